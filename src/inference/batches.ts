import type { CepeManifest } from '../../models/manifest.ts'

/**
 * Token budget that gives every text its own run: the default on a CPU. The last bits of a row depend on the rows of its run (padding,
 * kernels chosen by the number of rows), which would depend on what is cached and on the speed of earlier runs. Batches are no faster there
 * (docs/decisions/2026-11-22-readers-and-threads.md).
 */
export const ALONE = 1

/**
 * Largest size of one run, in weights times padded tokens: about a second of one CPU core, and less on a GPU. Larger CPU batches are hardly
 * faster (BERT-base, one core: 7.2 s for the same texts in batches of 256 tokens, 7.1 s of 512).
 */
const BATCH_WORK = { cpu: 6e10, cuda: 6e12 } as const
const LEAST_BATCH_TOKENS = 512
const MOST_BATCH_TOKENS = 16_384
/** Passages of 256 tokens: a run on a GPU takes 16 of them, and as many more as its memory holds. */
const ENCODER_STEP_TOKENS = 4096
/** Bytes of activations per padded token and unit of the encoder's width: 0.5 GiB for a step of the paper's encoder, well below its overhead. */
const ACTIVATION_BYTES = 128

/** Default padded tokens per run of a text encoder: 545 for BERT-base on a CPU. */
export function defaultBatchTokens(parameters: number, provider: keyof typeof BATCH_WORK): number {
  return Math.round(Math.min(MOST_BATCH_TOKENS, Math.max(LEAST_BATCH_TOKENS, BATCH_WORK[provider] / parameters)))
}

/** Padded tokens of an encoder run on a GPU: all of a question's if possible. @param spareBytes free on the device after loading */
export function encoderBatchTokens({ dims }: CepeManifest, spareBytes = 0, processes = 1): number {
  const stepBytes = ENCODER_STEP_TOKENS * ACTIVATION_BYTES * Math.max(1, dims.encoder_hidden_size)
  return Math.min(MOST_BATCH_TOKENS, ENCODER_STEP_TOKENS * (1 + Math.floor(spareBytes / processes / 4 / stepBytes)))
}

/**
 * Splits items into batches whose padded size, longest length times count, is at most `budget` tokens. Items are sorted by length, so
 * batches have little padding. An item longer than the budget gets a batch of its own.
 * @param lengths tokens of each item
 * @returns indices into `lengths`; every index once
 */
export function tokenBudgetBatches(lengths: readonly number[], budget: number): number[][] {
  const order = lengths.map((length, index) => ({ length, index })).sort((a, b) => b.length - a.length || a.index - b.index)
  const batches: number[][] = []
  let longest = 0
  for (const { length, index } of order) {
    const batch = batches.at(-1)
    if (batch !== undefined && longest * (batch.length + 1) <= budget) batch.push(index)
    else {
      batches.push([index])
      longest = length
    }
  }
  return batches
}
