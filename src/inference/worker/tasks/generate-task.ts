import type { GenerateRequest, ReplugRequest } from '../../contract.ts'
import type { Output } from '../../protocol.ts'
import { createConstraint } from '../decoder/constraint.ts'
import { encodeContexts } from '../encoder/encode-contexts.ts'
import { greedy, greedyInPieces } from '../decoder/greedy.ts'
import type { ReaderModel } from '../decoder/reader-model.ts'
import { type RunContext, alternatives, experts, replug, sample } from '../decoder/step-decoding.ts'
import { timed } from '../runtime/timed.ts'

/** Encodes the contexts and decodes from the prompt. */
export async function generateTask(model: ReaderModel, request: GenerateRequest, runContext: RunContext): Promise<Output<'generate'>> {
  const { generateGraph: generate, prompts, continueGraph: rest, limits } = model
  const { result: encoded, ms: encode } = await timed(() => encodeContexts(model.encoder, request, runContext.yieldPoint))
  await runContext.yieldPoint()
  const { sampling, stepwise = false, minNewTokens = 0, value, topTokens: count = 0 } = request
  const decode = async () => {
    const constraint = value && createConstraint(value, model.tokenTexts(), request.stopIds)
    if (sampling || constraint || stepwise || minNewTokens > 0)
      return { ...(await sample(await model.stepModel(), request, encoded.phi, { ...runContext, constraint })), contextShares: [] }
    if (!runContext.onToken) return greedy({ generate, prompts }, request, encoded)
    return greedyInPieces({ generate, prompts, rest, window: limits.window }, request, encoded, runContext)
  }
  const { result: decoded, ms } = await timed(async () => {
    const said = await decode()
    if (count === 0) return said
    const written = { promptIds: request.promptIds, tokenIds: said.tokenIds, count }
    return { ...said, alternatives: await alternatives(await model.stepModel(), written, encoded.phi, runContext.yieldPoint) }
  })
  return { ...decoded, contextTokenCounts: encoded.tokenCounts, timingsMs: { encode, generate: ms } }
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
export function expertsTask(model: ReaderModel, request: ReplugRequest, weights: readonly number[], runContext: RunContext) {
  return withoutContexts(async () => experts(await model.stepModel(), request, weights, runContext))
}
