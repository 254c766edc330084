import { mulberry32 } from '../../../base/random.ts'
import type { GenerateRequest, ReplugRequest, ScoreRequest } from '../contract.ts'
import { argmax, logSoftmax, mixLogprobs, sampleToken } from './sampling.ts'
import { extend, logitsRow, mergePasts, prefill, type Past, type StepModel } from './step.ts'
import { float32, type Tensor } from './session.ts'

/** Tokens with their natural-log probabilities. */
export interface Decoded {
  readonly tokenIds: readonly number[]
  readonly logprobs: readonly number[]
}

interface Decoding {
  readonly maxNewTokens: number
  readonly stopIds: readonly number[]
  /** Log-probabilities of the next token, from those of every row. */
  readonly mix: (rows: readonly Float64Array[]) => Float64Array
  readonly choose: (logprobs: Float64Array) => number
  /** Tokens before which no stop id is chosen. */
  readonly minNewTokens?: number
}

/** Chooses token after token; every row of the batch goes on with the same one. */
async function decode(
  model: StepModel,
  first: { past: Past; logits: readonly Float32Array[] },
  phi: Tensor,
  { maxNewTokens, stopIds, mix, choose, minNewTokens = 0 }: Decoding,
): Promise<Decoded> {
  const tokenIds: number[] = []
  const logprobs: number[] = []
  let { past, logits } = first
  for (;;) {
    const next = mix(logits.map(logSoftmax))
    const id = choose(tokenIds.length < minNewTokens ? without(next, stopIds) : next)
    tokenIds.push(id)
    logprobs.push(next[id] as number)
    if (tokenIds.length >= maxNewTokens || stopIds.includes(id)) return { tokenIds, logprobs }
    const step = await extend(
      model,
      past,
      logits.map(() => [id]),
      phi,
    )
    past = step.past
    logits = logits.map((_, row) => logitsRow(model, step.logits, row))
  }
}

/** The distribution with some ids made impossible; the others keep their log-probabilities. */
function without(logprobs: Float64Array, ids: readonly number[]): Float64Array {
  const left = logprobs.slice()
  for (const id of ids) left[id] = -Infinity
  return left
}

/** Temperature and top-p sampling, or greedy without it; log-probabilities are the model's own, at temperature 1. */
export async function sample(
  model: StepModel,
  { promptIds, stopIds, maxNewTokens, minNewTokens, sampling }: GenerateRequest,
  phi: Tensor,
): Promise<Decoded> {
  const random = mulberry32(sampling?.seed ?? 0)
  const { past, logits } = await prefill(model, promptIds, phi)
  return decode(model, { past, logits: [logits] }, phi, {
    maxNewTokens,
    stopIds,
    ...(minNewTokens !== undefined && { minNewTokens }),
    mix: ([row]) => row ?? new Float64Array(0),
    choose: (logprobs) => (sampling ? sampleToken(logprobs, sampling.temperature, sampling.topP, random) : argmax(logprobs)),
  })
}

/** RePlug, greedy: prompts are read one by one, then decoded as one batch. No encoder contexts. */
export async function replug(model: StepModel, { prompts, temperature, stopIds, maxNewTokens }: ReplugRequest): Promise<Decoded> {
  const phi = float32(new Float32Array(0), [0, model.dims.encoder_hidden_size])
  const pasts: Past[] = []
  const logits: Float32Array[] = []
  for (const { ids } of prompts) {
    const read = await prefill(model, ids, phi)
    pasts.push(read.past)
    logits.push(read.logits)
  }
  const scores = prompts.map(({ score }) => score)
  return decode(model, { past: mergePasts(model, pasts), logits }, phi, {
    maxNewTokens,
    stopIds,
    mix: (rows) => mixLogprobs(rows, scores, temperature),
    choose: argmax,
  })
}

/** Log-probability of every token of every continuation; the prompt is read once. */
export async function score(model: StepModel, { promptIds, continuations }: ScoreRequest, phi: Tensor): Promise<number[][]> {
  const { past, logits } = await prefill(model, promptIds, phi)
  const first = logSoftmax(logits)
  const scores: number[][] = []
  for (const ids of continuations) {
    // The last token is only predicted, never read.
    const read = ids.slice(0, -1)
    const step = read.length === 0 ? undefined : await extend(model, past, [read], phi)
    scores.push(
      ids.map((id, position) => {
        const distribution = step === undefined || position === 0 ? first : logSoftmax(logitsRow(model, step.logits, position - 1))
        return distribution[id] as number
      }),
    )
  }
  return scores
}
