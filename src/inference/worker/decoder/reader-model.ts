import type { PromptLimits } from '../../../text/plan.ts'
import { loadTokenizer } from '../../../text/tokenizer.ts'
import type { Log } from '../../log.ts'
import { loadCepeManifest } from '../../../../models/folder.ts'
import type { ReaderChildOptions } from '../../protocol.ts'
import { vnniWarning } from '../runtime/cpu.ts'
import type { ContextEncoder } from '../encoder/encode-contexts.ts'
import { createStateCache, createStateCodec } from '../encoder/state-cache.ts'
import { loadModelGraph } from '../runtime/prepack.ts'
import type { Graph } from '../runtime/session.ts'
import { type TokenTexts, tokenTexts } from './constraint.ts'
import { createStateStore } from '../encoder/state-store.ts'
import { createPromptCache, readBeginning } from './prompt-cache.ts'
import { isByLength, type StepModel } from './step.ts'

/** Minimum number of RePlug batches if its memory is fully used: a run copies the past of one batch. */
const REPLUG_BATCHES = 8

/** A loaded reader: encoder and generate graphs are loaded at the start, others on demand. */
export type ReaderModel = Awaited<ReturnType<typeof loadReaderModel>>

/** @param onLoading called when a graph starts and ends loading during a task @throws model_invalid, provider_unavailable */
export async function loadReaderModel(options: ReaderChildOptions, log: Log, onLoading: (loading: boolean) => void) {
  const manifest = await loadCepeManifest(options.modelDir)
  const warning = vnniWarning(manifest)
  if (warning !== undefined) log('warn', warning)
  const { dims, graphs } = manifest
  const tokenizer = await loadTokenizer(options.modelDir, manifest.tokens)
  const graphOptions = { ...options, manifest, log }
  const { stateDtype: dtype, stateDisk } = options
  const encoder: ContextEncoder = {
    graph: graphs.encoder === null ? null : await loadModelGraph(graphs.encoder, graphOptions),
    tokenizer,
    manifest,
    cache: createStateCache(options.stateCacheBytes),
    codec: await createStateCodec(dtype),
    store: stateDisk && (await createStateStore({ ...stateDisk, manifest, dtype, log })),
    batchTokens: options.batchTokens,
  }
  // Their runs grow with passages and prompt; the encoder's have a bounded size.
  const decoderOptions = { ...graphOptions, arena: false }
  const generateGraph = await loadModelGraph(graphs.generate, decoderOptions)
  const prompts = createPromptCache(options.promptCacheBytes, generateGraph, manifest)
  const later = (file: string): (() => Promise<Graph>) => {
    let graph: Promise<Graph> | undefined
    const load = (): Promise<Graph> => {
      onLoading(true)
      return loadModelGraph(file, decoderOptions).finally(() => onLoading(false))
    }
    return () =>
      (graph ??= load().catch((error: unknown) => {
        // A failure, such as too little memory, may be transient: retry on the next use.
        graph = undefined
        throw error
      }))
  }
  // Keys and values of a token over all layers.
  const pastBytes = 2 * dims.layers * dims.kv_heads * dims.head_dim * (manifest.dtype.startsWith('f16') ? 2 : 4)
  const replugTokens = Math.floor(options.replugBytes / pastBytes)
  const batchTokens = Math.max(1, Math.floor(replugTokens / REPLUG_BATCHES))
  const stepGraph = later(graphs.step)
  let texts: TokenTexts | undefined
  const byLength = isByLength(manifest)
  return {
    manifest,
    tokenizer,
    /** Ids that end a one-line answer. */
    stopIds: tokenizer.stopIds('\n'),
    limits: { window: dims.window, hasEncoder: dims.cross_attention_layers > 0, replugTokens } satisfies PromptLimits,
    encoder,
    generateGraph,
    prompts,
    continueGraph: later(graphs.continue),
    stepModel: async (): Promise<StepModel> => ({
      graph: await stepGraph(),
      dims,
      byLength,
      prefillTokens: options.prefillTokens,
      batchTokens,
      beginning: (ids, phi) => readBeginning({ generate: generateGraph, prompts }, ids, phi),
    }),
    /** Computed on first use: some hundred milliseconds for a large vocabulary. */
    tokenTexts: () => (texts ??= tokenTexts(tokenizer, dims.vocab_size)),
  }
}
