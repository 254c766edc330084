/**
 * Token budget that gives every text its own run: the default on a CPU. The last bits of a row depend on the rows of its run (padding,
 * kernels chosen by the number of rows), which would depend on what is cached and on the speed of earlier runs. Batches are no faster there
 * (docs/decisions/2026-11-22-readers-and-threads.md).
 */
export const ALONE = 1

/**
 * Splits items into batches whose padded size, longest length times count, is at most `budget` tokens. Items are sorted by length, so
 * batches have little padding. An item longer than the budget gets a batch of its own.
 * @param lengths tokens of each item
 * @returns indices into `lengths`; every index once
 */
export function tokenBudgetBatches(lengths: readonly number[], budget: number): number[][] {
  const order = lengths.map((length, index) => ({ length, index })).sort((a, b) => b.length - a.length || a.index - b.index)
  const batches: number[][] = []
  let batch: number[] = []
  let longest = 0
  for (const { length, index } of order) {
    if (batch.length > 0 && longest * (batch.length + 1) > budget) {
      batches.push(batch)
      batch = []
    }
    if (batch.length === 0) longest = length
    batch.push(index)
  }
  if (batch.length > 0) batches.push(batch)
  return batches
}
