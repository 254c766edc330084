import type { GenerateRequest, ReplugRequest } from '../contract.ts'
import type { Output } from '../protocol.ts'
import type { Course } from './course.ts'
import { encodeContexts, type EncodedContexts } from './encode-contexts.ts'
import { greedy, greedyInPieces, type GreedyAnswer } from './greedy.ts'
import type { ReaderModel } from './reader-model.ts'
import { replug, sample } from './step-tasks.ts'
import { timed } from './timed.ts'

/** Encodes the contexts, and has the decoder go on from the prompt. */
export async function generateTask(model: ReaderModel, request: GenerateRequest, course: Course): Promise<Output<'generate'>> {
  const { result: encoded, ms: encode } = await timed(() => encodeContexts(model.encoder, request, course.step))
  await course.step()
  const stepwise = request.sampling !== undefined || request.stepwise === true || (request.minNewTokens ?? 0) > 0
  const { result: decoded, ms: generate } = await timed(async () =>
    stepwise
      ? { ...(await sample(await model.stepModel(), request, encoded.phi, course)), contextShares: [] }
      : decodeGreedily(model, request, encoded, course),
  )
  return { ...decoded, contextTokenCounts: encoded.tokenCounts, timingsMs: { encode, generate } }
}

function decodeGreedily(model: ReaderModel, request: GenerateRequest, encoded: EncodedContexts, course: Course): Promise<GreedyAnswer> {
  const { generateGraph, continueGraph, manifest } = model
  // A model that was built without the graph that goes on answers whole.
  if (!course.onToken || !continueGraph) return greedy(generateGraph, request, encoded)
  const pieces = { generate: generateGraph, rest: continueGraph, dims: manifest.dims }
  return greedyInPieces(pieces, request, encoded, { step: course.step, onToken: course.onToken })
}

/** RePlug: no encoder, one prompt a passage. */
export async function replugTask(model: ReaderModel, request: ReplugRequest, course: Course): Promise<Output<'replug'>> {
  const { result: decoded, ms } = await timed(async () => replug(await model.stepModel(), request, course))
  return { ...decoded, contextShares: [], contextTokenCounts: [], timingsMs: { encode: 0, generate: ms } }
}
