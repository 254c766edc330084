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
  /** Likeliest tokens of each place. */
  readonly count: number
}

/**
 * The likeliest tokens at every place of an answer: the prompt is read once more, and the answer after it, since the graph that answers in one
 * run gives no distributions.
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
  return tokenIds.map((_, place) => likeliest(logSoftmax(place === 0 ? logits : logitsRow(model, rest, place - 1)), count))
}

/** Likeliest first, the first of equals. */
function likeliest(logprobs: Float64Array, count: number): TokenChance[] {
  const best: TokenChance[] = []
  for (let id = 0; id < logprobs.length; id++) {
    const logprob = logprobs[id] as number
    if (best.length >= count && logprob <= at(best, best.length - 1).logprob) continue
    const place = best.findIndex((other) => other.logprob < logprob)
    best.splice(place < 0 ? best.length : place, 0, { id, logprob: checkNumber(logprob) })
    if (best.length > count) best.pop()
  }
  return best
}
