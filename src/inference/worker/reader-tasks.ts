import { CodedError } from '../../../base/errors.ts'
import type { CepeManifest } from '../../../models/manifest.ts'
import { loadTokenizer } from '../../text/tokenizer.ts'
import { encodeContexts } from './encode-contexts.ts'
import type { GenerateRequest } from '../contract.ts'
import type { Log } from '../log.ts'
import { readCepeManifest } from '../model-folder.ts'
import { loadModelGraph, type ModelGraphOptions } from './prepack.ts'
import type { Output, ReaderChildOptions, TaskHandlers } from '../protocol.ts'
import { contextShares } from './shares.ts'
import { floats, int64, integers, type Graph, type Tensor } from './session.ts'
import { createStateCache } from './state-cache.ts'
import type { StepModel } from './step.ts'
import { replug, sample, score } from './step-tasks.ts'
import { scoreStreaming } from './stream.ts'

/**
 * Loads a reader in this process: encoder and generate graphs at once, the step graph when it is first needed.
 * Encoder states never leave the process.
 * @throws model_invalid, provider_unavailable
 */
export async function createReaderTasks(options: ReaderChildOptions, log: Log): Promise<TaskHandlers> {
  const manifest = await readCepeManifest(options.modelDir)
  const { bos_id: bosId, eos_ids: eosIds } = manifest.tokens
  const tokenizer = await loadTokenizer(options.modelDir, { bosId, eosIds })
  const graphOptions: ModelGraphOptions = { ...options, manifest, log }
  const encoder = {
    graph: manifest.graphs.encoder === null ? null : await loadModelGraph(manifest.graphs.encoder, graphOptions),
    tokenizer,
    manifest,
    cache: createStateCache(options.stateCacheBytes),
    batchTokens: options.batchTokens,
  }
  const generateGraph = await loadModelGraph(manifest.graphs.generate, graphOptions)
  let stepGraph: Promise<Graph> | undefined
  const stepModel = async (): Promise<StepModel> => {
    stepGraph ??= loadModelGraph(manifest.graphs.step, graphOptions)
    return { graph: await stepGraph, dims: manifest.dims, prefillTokens: options.prefillTokens }
  }

  const generate = async (request: GenerateRequest): Promise<Output<'generate'>> => {
    const { result: encoded, ms: encode } = await timed(() => encodeContexts(encoder, request))
    const { result: decoded, ms: generate } = await timed(async () =>
      request.sampling || (request.minNewTokens ?? 0) > 0
        ? { ...(await sample(await stepModel(), request, encoded.phi)), contextShares: [] }
        : greedy(generateGraph, request, encoded.phi, encoded.tokenCounts),
    )
    return { ...decoded, contextTokenCounts: encoded.tokenCounts, timingsMs: { encode, generate } }
  }

  return {
    generate,
    replug: async (request) => {
      const { result: decoded, ms } = await timed(async () => replug(await stepModel(), request))
      return { ...decoded, contextShares: [], contextTokenCounts: [], timingsMs: { encode: 0, generate: ms } }
    },
    score: async (request) => {
      const { phi } = await encodeContexts(encoder, request)
      return request.streaming
        ? scoreStreaming(await stepModel(), request, request.streaming, rotaryOf(manifest), phi)
        : score(await stepModel(), request, phi)
    },
  }
}

/** @throws model_invalid where the model was built before its manifest told, unsupported where it has no such frequencies */
function rotaryOf({ rotary }: CepeManifest): readonly number[] {
  if (rotary) return rotary.frequencies
  throw rotary === undefined
    ? new CodedError(
        'model_invalid',
        'The manifest does not tell the rotary frequencies that a streaming cache needs: build the model again (cepe build).',
      )
    : new CodedError('unsupported', 'A streaming cache moves keys by whole positions, which this rotary embedding does not allow.')
}

/** The whole greedy answer in one run of the generate graph. */
async function greedy(graph: Graph, { promptIds, stopIds, maxNewTokens }: GenerateRequest, phi: Tensor, tokenCounts: readonly number[]) {
  const outputs = await graph.run({
    input_ids: int64(promptIds, [1, promptIds.length]),
    phi,
    stop_ids: int64(stopIds, [stopIds.length]),
    max_new_tokens: int64([maxNewTokens], []),
  })
  return {
    tokenIds: integers(outputs, 'tokens'),
    logprobs: [...floats(outputs, 'logprobs')],
    contextShares: contextShares(floats(outputs, 'attention'), tokenCounts),
  }
}

async function timed<Result>(work: () => Promise<Result>): Promise<{ readonly result: Result; readonly ms: number }> {
  const started = performance.now()
  const result = await work()
  return { result, ms: performance.now() - started }
}
