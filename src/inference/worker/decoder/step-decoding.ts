import { at } from '../../../../base/at.ts'
import { mulberry32 } from '../../../../base/random.ts'
import { tokenBudgetBatches } from '../../batches.ts'
import type { GenerateRequest, ReplugRequest, ScoreRequest, TokenChance } from '../../contract.ts'
import type { YieldPoint } from '../../protocol.ts'
import type { Constraint } from './constraint.ts'
import { type Tensor, checkNumber, float32 } from '../runtime/session.ts'
import { argmax, logSoftmax, mixLogprobs, sampleToken } from './sampling.ts'
import { type Past, type StepModel, extend, logitsRow, mergePasts, prefill } from './step.ts'
import type { OnToken } from './text-streamer.ts'

/** Context of a run: its yield point, and the callback for its tokens. */
export interface RunContext {
  readonly yieldPoint: YieldPoint
  readonly onToken?: OnToken | undefined
  readonly constraint?: Constraint | undefined
}

/** Tokens with their natural-log probabilities. */
export interface Decoded {
  readonly tokenIds: readonly number[]
  readonly logprobs: readonly number[]
}

type Ending = Pick<GenerateRequest, 'maxNewTokens' | 'stopIds'>

/** Decodes until a token, the constraint or the listener ends the answer. @param next chooses the token after those before it */
export async function untilEnd(
  { maxNewTokens, stopIds }: Ending,
  { onToken, constraint }: RunContext,
  next: (before: readonly number[], chosen: number) => Promise<TokenChance>,
): Promise<Decoded> {
  const tokenIds: number[] = []
  const logprobs: number[] = []
  for (let chosen = 0; ; chosen++) {
    if (chosen >= maxNewTokens) return { tokenIds, logprobs }
    const { id, logprob } = await next(tokenIds, chosen)
    tokenIds.push(id)
    logprobs.push(logprob)
    const isWhole = constraint?.accept(id) ?? false
    const isOver = onToken?.(id) ?? false
    if (isOver || isWhole || stopIds.includes(id)) return { tokenIds, logprobs }
  }
}

export interface Decoding extends Ending, RunContext {
  /** Encoder states, [m, d_enc]. */
  readonly phi: Tensor
  /** Combines the log-probabilities of all rows for the next token. */
  readonly mix: (rows: readonly Float64Array[]) => Float64Array
  readonly choose: (logprobs: Float64Array) => number
  readonly minNewTokens?: number | undefined
}

/** Rows that run together: their past, and the logits of each. */
export interface Batch {
  past: Past
  logits: readonly Float32Array[]
}

/** Decodes token by token; every row of every batch continues with the same token. */
export function decode(model: StepModel, batches: readonly Batch[], decoding: Decoding): Promise<Decoded> {
  const { phi, stopIds, mix, choose, minNewTokens = 0, yieldPoint, constraint } = decoding
  let read = 0
  return untilEnd(decoding, decoding, async (before, chosen) => {
    const unread = before.slice(read)
    read = before.length
    for (const batch of unread.length > 0 ? batches : []) {
      await yieldPoint()
      const rows = batch.logits.map(() => unread)
      const step = await extend(model, batch.past, rows, phi)
      batch.past = step.past
      batch.logits = rows.map((_, row) => logitsRow(model, step.logits, (row + 1) * unread.length - 1))
    }
    const logprobs = mix(batches.flatMap(({ logits }) => logits.map(logSoftmax)))
    const open = constraint?.mask(logprobs) ?? logprobs
    const id = choose(chosen < minNewTokens ? without(open, stopIds) : open)
    return { id, logprob: at(logprobs, id) }
  })
}

/** A choice whose log-probability is a number. @throws as checkNumber */
function checked(choose: Decoding['choose']): Decoding['choose'] {
  return (logprobs) => {
    const id = choose(logprobs)
    checkNumber(logprobs[id])
    return id
  }
}

/** Masks some ids; the others keep their log-probabilities. */
function without(logprobs: Float64Array, ids: readonly number[]): Float64Array {
  const left = logprobs.slice()
  for (const id of ids) left[id] = -Infinity
  return left
}

/** Temperature and top-p sampling, or greedy; log-probabilities are at temperature 1. */
export async function sample(model: StepModel, request: GenerateRequest, phi: Tensor, runContext: RunContext): Promise<Decoded> {
  const { promptIds, sampling } = request
  const random = mulberry32(sampling?.seed ?? 0)
  const { past, logits } = await prefill(model, { ids: promptIds }, phi, runContext.yieldPoint)
  const choose = checked((logprobs) => (sampling ? sampleToken(logprobs, sampling, random) : argmax(logprobs)))
  const mix: Decoding['mix'] = (rows) => at(rows, 0)
  return decode(model, [{ past, logits: [logits] }], { ...request, ...runContext, phi, mix, choose })
}

export function noContexts({ dims }: StepModel): Tensor {
  return float32(new Float32Array(0), [0, dims.encoder_hidden_size])
}

/** RePlug, greedy: prompts are read one by one, then decoded in batches of similar length. No encoder contexts. */
export async function replug(model: StepModel, request: ReplugRequest, runContext: RunContext): Promise<Decoded> {
  const { prompts, temperature } = request
  const phi = noContexts(model)
  const lengths = prompts.map(({ ids }) => ids.length)
  const members = tokenBudgetBatches(lengths, model.batchTokens)
  const batches: Batch[] = []
  for (const indices of members) {
    const read = []
    for (const index of indices) read.push(await prefill(model, at(prompts, index), phi, runContext.yieldPoint))
    const pasts = read.map(({ past }) => past)
    batches.push({ past: mergePasts(model, pasts), logits: read.map(({ logits }) => logits) })
  }
  const scores = members.flat().map((index) => at(prompts, index).score)
  const mix: Decoding['mix'] = (rows) => mixLogprobs(rows, scores, temperature)
  return decode(model, batches, { ...request, ...runContext, phi, mix, choose: checked(argmax) })
}

/** A prompt of {@link experts}, and the number of answer tokens that it has read. */
interface Expert {
  past: Past
  logprobs: Float64Array
  read: number
  /** Its first token would end the answer: the passage has none. */
  readonly isEmpty: boolean
}

/**
 * Greedy, one prompt per passage: each token is the one that a passage is surest of, by its probability times the passage's weight, and all
 * prompts continue with it. Passages that would begin with a stop token have no say, unless all do. As a probability is 1 at most, passages
 * whose weight is not above the best vote are not read.
 * @param weights of the prompts, 1 for the first and never rising
 * @returns also how many of the prompts were read
 */
export async function experts(
  model: StepModel,
  request: Omit<ReplugRequest, 'temperature'>,
  weights: readonly number[],
  runContext: RunContext,
): Promise<Decoded & { readonly promptsRead: number }> {
  const { prompts, stopIds, maxNewTokens: following } = request
  const { yieldPoint } = runContext
  const phi = noContexts(model)
  const rows: Expert[] = []
  const opened = async ({ ids }: ReplugRequest['prompts'][number]): Promise<Expert> => {
    const { past, logits } = await prefill(model, { ids, following }, phi, yieldPoint)
    const first = logSoftmax(logits)
    return { past, logprobs: first, read: 0, isEmpty: stopIds.includes(argmax(first)) }
  }
  const advance = async (row: Expert, before: readonly number[]): Promise<void> => {
    await yieldPoint()
    const { past, logits } = await extend(model, row.past, [before.slice(row.read)], phi)
    Object.assign(row, { past, logprobs: logSoftmax(logits.slice(-model.dims.vocab_size)), read: before.length })
  }
  const decoded = await untilEnd(request, runContext, async (before) => {
    let best: { readonly row: Expert; readonly id: number; readonly vote: number } | undefined
    for (const [i, weight] of weights.entries()) {
      if (best !== undefined && Math.log(weight) <= best.vote) break
      const row = (rows[i] ??= await opened(at(prompts, i)))
      if (row.isEmpty) continue
      if (row.read < before.length) await advance(row, before)
      const id = argmax(row.logprobs)
      const vote = checkNumber(row.logprobs[id]) + Math.log(weight)
      if (best === undefined || vote > best.vote) best = { row, id, vote }
    }
    const { row, id } = best ?? { row: at(rows, 0), id: argmax(at(rows, 0).logprobs) }
    return { id, logprob: checkNumber(row.logprobs[id]) }
  })
  return { ...decoded, promptsRead: rows.length }
}

/**
 * Log-probability of every token of every continuation; the prompt is read once. For length-dependent rotary bases the text has the length
 * of the longest continuation.
 */
export async function score(
  model: StepModel,
  { promptIds, continuations }: Pick<ScoreRequest, 'promptIds' | 'continuations'>,
  phi: Tensor,
  yieldPoint: YieldPoint,
): Promise<number[][]> {
  const following = Math.max(0, ...continuations.map(({ length }) => length))
  const { past, logits } = await prefill(model, { ids: promptIds, following }, phi, yieldPoint)
  const prompt = { past, first: logSoftmax(logits) }
  const scores: number[][] = []
  for (const ids of continuations) {
    await yieldPoint()
    const distributionAt = await readOn(model, prompt, ids, phi)
    scores.push(ids.map((id, position) => checkNumber(distributionAt(position)[id])))
  }
  return scores
}

/** The `count` most likely tokens at every position; prompt and answer are read again, as the single-run graph returns none. */
export async function alternatives(
  model: StepModel,
  { promptIds, tokenIds, count }: Pick<GenerateRequest, 'promptIds'> & Pick<Decoded, 'tokenIds'> & { readonly count: number },
  phi: Tensor,
  yieldPoint: YieldPoint,
): Promise<readonly (readonly TokenChance[])[]> {
  const { past, logits } = await prefill(model, { ids: promptIds }, phi, yieldPoint)
  await yieldPoint()
  const distributionAt = await readOn(model, { past, first: logSoftmax(logits) }, tokenIds, phi)
  return tokenIds.map((_, position) => likeliest(distributionAt(position), count))
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

/** Reads a continuation of a prompt; its last token is only predicted. @returns the distribution at each of its positions */
async function readOn(
  model: StepModel,
  { past, first }: { readonly past: Past; readonly first: Float64Array },
  ids: readonly number[],
  phi: Tensor,
): Promise<(position: number) => Float64Array> {
  const read = ids.slice(0, -1)
  const rest = read.length === 0 ? new Float32Array(0) : (await extend(model, past, [read], phi)).logits
  return (position) => (position === 0 ? first : logSoftmax(logitsRow(model, rest, position - 1)))
}
