import type { GenerateRequest, ReplugRequest } from '../../contract.ts'
import type { Output } from '../../protocol.ts'
import { alternatives } from '../decoder/alternatives.ts'
import { createConstraint } from '../decoder/constraint.ts'
import type { RunContext } from '../decoder/run-context.ts'
import { encodeContexts, type EncodedContexts } from '../encoder/encode-contexts.ts'
import { greedy, greedyInPieces, type GreedyAnswer } from '../decoder/greedy.ts'
import type { ReaderModel } from '../decoder/reader-model.ts'
import { experts, replug, sample } from '../decoder/step-decoding.ts'
import { timed } from '../runtime/timed.ts'

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
  // A model built without the continue graph returns the answer at once.
  if (!runContext.onToken || !continueGraph) return greedy(generateGraph, request, encoded)
  const pieces = { generate: generateGraph, rest: continueGraph, dims: manifest.dims }
  return greedyInPieces(pieces, request, encoded, { yieldPoint: runContext.yieldPoint, onToken: runContext.onToken })
}

/** RePlug: no encoder, one prompt per passage. */
export async function replugTask(model: ReaderModel, request: ReplugRequest, runContext: RunContext): Promise<Output<'replug'>> {
  const { result: decoded, ms } = await timed(async () => replug(await model.stepModel(), request, runContext))
  return { ...decoded, contextShares: [], contextTokenCounts: [], timingsMs: { encode: 0, generate: ms } }
}

/** One prompt per passage, each token by the passage that is surest of it; no encoder. */
export async function expertsTask(
  model: ReaderModel,
  request: ReplugRequest,
  weights: readonly number[],
  runContext: RunContext,
): Promise<Output<'replug'> & { readonly promptsRead: number }> {
  const { result: decoded, ms } = await timed(async () => experts(await model.stepModel(), request, weights, runContext))
  return { ...decoded, contextShares: [], contextTokenCounts: [], timingsMs: { encode: 0, generate: ms } }
}
