import { at, sum } from '../../../base/at.ts'
import type { ReaderClient } from '../../run/contract.ts'

/** Log-probability of every option's tokens after the prompt. @throws invalid_request if the prompt does not fit */
export async function optionSums(
  promptIds: readonly number[],
  contextIds: readonly (readonly number[])[],
  options: readonly (readonly number[])[],
  { reader, manifest }: Pick<ReaderClient, 'reader' | 'manifest'>,
): Promise<number[]> {
  const scores = await reader.score({
    contexts: [],
    contextIds,
    contextTokens: Math.max(1, manifest.dims.encoder_window),
    promptIds,
    continuations: options,
  })
  return scores.map((logprobs) => sum(logprobs))
}

/** Scores of an item, 1 where the chosen option is right. */
export function scoresOf(chosen: ReturnType<typeof predictions>, right: (index: number) => boolean): Record<string, number> {
  return Object.fromEntries(Object.entries(chosen).map(([scoring, index]) => [scoring, right(index) ? 1 : 0]))
}

/**
 * Index of the option chosen by each scoring, the first of equals.
 * @param sums log-probability of each option after the prompt; `calibration`: after BOS alone, without contexts; `lengths`: its tokens
 */
export function predictions({ sums, calibration, lengths }: Readonly<Record<'sums' | 'calibration' | 'lengths', readonly number[]>>) {
  const best = (score: (i: number) => number): number => sums.reduce((chosen, _, i) => (score(i) > score(chosen) ? i : chosen), 0)
  const calibrated = (i: number): number => at(sums, i) - at(calibration, i)
  return {
    sum: best((i) => at(sums, i)),
    mean: best((i) => at(sums, i) / at(lengths, i)),
    calibrated: best(calibrated),
    calibrated_mean: best((i) => calibrated(i) / at(lengths, i)),
  }
}
