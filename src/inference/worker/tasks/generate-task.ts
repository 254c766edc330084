import type { GenerateRequest, ReplugRequest, TokenChance } from '../../contract.ts'
import type { Output, YieldPoint } from '../../protocol.ts'
import { createConstraint } from '../decoder/constraint.ts'
import { type EncodedContexts, encodeContexts } from '../encoder/encode-contexts.ts'
import { type GreedyAnswer, greedy, greedyInPieces } from '../decoder/greedy.ts'
import type { ReaderModel } from '../decoder/reader-model.ts'
import { type RunContext, experts, replug, sample } from '../decoder/step-decoding.ts'
import { timed } from '../runtime/timed.ts'
import { at } from '../../../../base/at.ts'
import { type Tensor, checkNumber } from '../runtime/session.ts'
import { logSoftmax } from '../decoder/sampling.ts'
import { type StepModel, extend, logitsRow, prefill } from '../decoder/step.ts'

/** Encodes the contexts and decodes from the prompt. */
export async function generateTask(model: ReaderModel, request: GenerateRequest, runContext: RunContext): Promise<Output<'generate'>> {
  const { result: encoded, ms: encode } = await timed(() => encodeContexts(model.encoder, request, runContext.yieldPoint))
  await runContext.yieldPoint()
  const { sampling, stepwise = false, minNewTokens = 0, grammar, topTokens: count = 0 } = request
  const { result: decoded, ms: generate } = await timed(async () => {
    const constraint = grammar && createConstraint(grammar, model.tokenTexts(), request.stopIds)
    const said =
      sampling || constraint || stepwise || minNewTokens > 0
        ? { ...(await sample(await model.stepModel(), request, encoded.phi, { ...runContext, constraint })), contextShares: [] }
        : await decodeGreedily(model, request, encoded, runContext)
    if (count === 0) return said
    const { promptIds } = request
    const { tokenIds } = said
    const { yieldPoint } = runContext
    return { ...said, alternatives: await alternatives(await model.stepModel(), { promptIds, tokenIds, count }, encoded.phi, yieldPoint) }
  })
  return { ...decoded, contextTokenCounts: encoded.tokenCounts, timingsMs: { encode, generate } }
}

function decodeGreedily(
  model: ReaderModel,
  request: GenerateRequest,
  encoded: EncodedContexts,
  runContext: RunContext,
): Promise<GreedyAnswer> {
  const { generateGraph, continueGraph, manifest } = model
  if (!runContext.onToken) return greedy(generateGraph, request, encoded)
  const pieces = { generate: generateGraph, rest: continueGraph, dims: manifest.dims }
  return greedyInPieces(pieces, request, encoded, { yieldPoint: runContext.yieldPoint, onToken: runContext.onToken })
}

/** RePlug: no encoder, one prompt per passage. */
export async function replugTask(model: ReaderModel, request: ReplugRequest, runContext: RunContext): Promise<Output<'replug'>> {
  return withoutContexts(async () => replug(await model.stepModel(), request, runContext))
}

async function withoutContexts<Result extends object>(decode: () => Promise<Result>) {
  const { result, ms } = await timed(decode)
  return { ...result, contextShares: [], contextTokenCounts: [], timingsMs: { encode: 0, generate: ms } }
}

/** One prompt per passage, each token by the passage that is surest of it; no encoder. */
export async function expertsTask(
  model: ReaderModel,
  request: ReplugRequest,
  weights: readonly number[],
  runContext: RunContext,
): Promise<Output<'replug'> & { readonly promptsRead: number }> {
  return withoutContexts(async () => experts(await model.stepModel(), request, weights, runContext))
}

/** A greedy or sampled answer, after its prompt. */
interface Said {
  readonly promptIds: readonly number[]
  readonly tokenIds: readonly number[]
  /** Number of most likely tokens per position. */
  readonly count: number
}

/**
 * The most likely tokens at every position of an answer. Prompt and answer are read again, since the single-run graph returns no
 * distributions.
 */
async function alternatives(
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
