/**
 * Cross-attention mass of each context: attention summed over its rows of phi and over the generated tokens, as shares of the total.
 * @param attention [generated tokens, m], row by row
 * @param tokenCounts rows of phi of each context, in phi's order; they sum to m
 * @returns one share per context; they sum to 1, or are all 0 where there was no attention
 */
export function contextShares(attention: Float32Array, tokenCounts: readonly number[]): number[] {
  const columns = tokenCounts.reduce((sum, count) => sum + count, 0)
  const starts = tokenCounts.map((_, index) => tokenCounts.slice(0, index).reduce((sum, count) => sum + count, 0))
  const masses = tokenCounts.map((count, index) => {
    let mass = 0
    for (let row = 0; row < attention.length; row += columns) {
      for (let column = starts[index] as number, end = column + count; column < end; column++) mass += attention[row + column] as number
    }
    return mass
  })
  const total = masses.reduce((sum, mass) => sum + mass, 0)
  return masses.map((mass) => (total > 0 ? mass / total : 0))
}
