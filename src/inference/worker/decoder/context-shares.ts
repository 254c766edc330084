import type { AttentionFocus, GenerateResult } from '../../contract.ts'

/**
 * Selects the requested measures of an answer's cross-attention.
 * @param attention [generated tokens, m], row-major
 * @param tokenCounts rows of phi per context, in phi's order; they sum to m
 */
export function measuredAttention(
  attention: Float32Array,
  tokenCounts: readonly number[],
  wantsTokenShares = false,
): Pick<GenerateResult, 'contextShares' | 'attentionFocus' | 'tokenShares'> {
  const rows = tokenCounts.reduce((sum, count) => sum + count, 0)
  return {
    contextShares: contextShares(attention, tokenCounts),
    attentionFocus: attentionFocus(attention, rows),
    ...(wantsTokenShares && { tokenShares: tokenShares(attention, rows) }),
  }
}

/**
 * Cross-attention mass per context: summed over its rows of phi and the generated tokens, as shares of the total.
 * @param attention [generated tokens, m], row-major
 * @param tokenCounts rows of phi per context, in phi's order; they sum to m
 * @returns one share per context; they sum to 1, or are all 0 without attention
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

/**
 * Peak and relative entropy of each generated token's attention over the rows of phi.
 * @param attention [generated tokens, m], row-major
 */
function attentionFocus(attention: Float32Array, m: number): AttentionFocus[] {
  if (m === 0) return []
  return Array.from({ length: attention.length / m }, (_, token) => {
    const row = attention.subarray(token * m, (token + 1) * m)
    let [total, peak, weighed] = [0, 0, 0]
    for (const mass of row) {
      total += mass
      peak = Math.max(peak, mass)
      if (mass > 0) weighed += mass * Math.log(mass)
    }
    // -sum (a/t) log (a/t) = log t - (sum a log a) / t
    return total > 0
      ? { peak: peak / total, entropy: m > 1 ? (Math.log(total) - weighed / total) / Math.log(m) : 0 }
      : { peak: 0, entropy: 1 }
  })
}

/** Share of cross-attention per row of phi, over the generated tokens. @param attention [generated tokens, m], row-major */
function tokenShares(attention: Float32Array, m: number): Float64Array {
  const shares = new Float64Array(m)
  let total = 0
  for (let i = 0; i < attention.length; i++) {
    const mass = attention[i] as number
    shares[i % m] = (shares[i % m] as number) + mass
    total += mass
  }
  return total > 0 ? shares.map((mass) => mass / total) : shares
}
