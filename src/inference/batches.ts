/**
 * Padded tokens of one run that give every text a run of its own: the default on a CPU. The last bits of a row's numbers depend on the
 * rows that share its run (padding, kernels chosen by the number of rows), and which ones do would depend on what is cached and on how
 * fast earlier runs were. Shared runs are no faster there (docs/decisions/2026-11-23-one-text-a-run.md).
 */
export const ALONE = 1

/**
 * Cuts items into batches whose padded size, longest length times count, stays within `budget` tokens.
 * Items are taken longest first, so each batch holds items of like length and little of it is padding.
 * An item longer than the budget has a batch of its own.
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
