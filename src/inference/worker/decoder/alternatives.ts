import { at } from '../../../../base/at.ts'
import type { TokenChance } from '../../contract.ts'
import type { YieldPoint } from '../../protocol.ts'
import { checkNumber } from '../runtime/finite.ts'
import type { Tensor } from '../runtime/session.ts'
import { logSoftmax } from './sampling.ts'
import { extend, logitsRow, prefill, type StepModel } from './step.ts'

/** A greedy or sampled answer, after its prompt. */
export interface Said {
  readonly promptIds: readonly number[]
  readonly tokenIds: readonly number[]
  /** Number of most likely tokens per position. */
  readonly count: number
}

/**
 * The most likely tokens at every position of an answer. Prompt and answer are read again, since the single-run graph returns no
 * distributions.
 */
export async function alternatives(
  model: StepModel,
  { promptIds, tokenIds, count }: Said,
  phi: Tensor,
  yieldPoint: YieldPoint,
): Promise<readonly (readonly TokenChance[])[]> {
  const { past, logits } = await prefill(model, { ids: promptIds }, phi, yieldPoint)
  const read = tokenIds.slice(0, -1)
  await yieldPoint()
  const rest = read.length === 0 ? new Float32Array(0) : (await extend(model, past, [read], phi)).logits
  return tokenIds.map((_, position) => likeliest(logSoftmax(position === 0 ? logits : logitsRow(model, rest, position - 1)), count))
}

/** Most likely first; of equals, the lowest id first. */
function likeliest(logprobs: Float64Array, count: number): TokenChance[] {
  const best: TokenChance[] = []
  for (let id = 0; id < logprobs.length; id++) {
    const logprob = logprobs[id] as number
    if (best.length >= count && logprob <= at(best, best.length - 1).logprob) continue
    const rank = best.findIndex((other) => other.logprob < logprob)
    best.splice(rank < 0 ? best.length : rank, 0, { id, logprob: checkNumber(logprob) })
    if (best.length > count) best.pop()
  }
  return best
}
