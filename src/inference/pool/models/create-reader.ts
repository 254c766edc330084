import type { AheadEncoder, AnswerRead, DocumentReader, Generator, Reader } from '../../contract.ts'
import type { StateDtype } from '../../protocol.ts'
import { checkDevice } from './check-device.ts'
import { loadCepeManifest } from '../../../../models/folder.ts'
import type { CepeManifest } from '../../../../models/manifest.ts'
import { ALONE } from '../../batches.ts'
import { createPool, runTask } from '../pool.ts'
import { type ProcessOptions, type Supervised, commonChildOptions } from './process-options.ts'
import type { Lane } from '../queue.ts'
import { checkGenerate, checkReplug, checkScore } from './requests.ts'
import { CodedError } from '../../../../base/errors.ts'

/** Padded tokens of one encoder run on a GPU: a multiple of the first, for 16 passages, up to the second, for 64. */
const GPU_ENCODER_TOKENS = { step: 4096, most: 16_384 }
/** Bytes of activations per padded token and unit of the encoder's width: 0.5 GiB for a step of the paper's encoder, well below its overhead. */
const ACTIVATION_BYTES = 128
/** Prompt tokens per run of the step graph, whose logits take vocabulary x 4 bytes each (LLaMA-2: 31 MiB in all). */
const DEFAULT_PREFILL_TOKENS = 256
const DEFAULT_STATE_CACHE_BYTES = 256 * 2 ** 20
const DEFAULT_REPLUG_BYTES = 512 * 2 ** 20

export interface ReaderOptions extends ProcessOptions {
  /** Padded tokens of one encoder run. Default: {@link ALONE} on a CPU, {@link encoderBatchTokens} on a GPU. */
  readonly batchTokens?: number
  /** Prompt tokens per run for scoring, sampling and RePlug. Default {@link DEFAULT_PREFILL_TOKENS}. */
  readonly prefillTokens?: number
  /** Memory of each process for encoder states of passages; 0 for none. Default {@link DEFAULT_STATE_CACHE_BYTES}. */
  readonly stateCacheBytes?: number
  /** Storage type of encoder states; 'f16' also rounds fresh states. Default 'f32'. */
  readonly stateDtype?: StateDtype
  /** Disk store of encoder states, shared by all processes. Default: none. */
  readonly stateDisk?: { readonly dir: string; readonly maxBytes: number }
  /** Memory of each process for the keys and values of RePlug's prompts. Default {@link DEFAULT_REPLUG_BYTES}. */
  readonly replugBytes?: number
}

/**
 * Padded tokens of an encoder run on a GPU, of all passages of a question where memory allows.
 * @param spareBytes free memory of the device beside the models
 */
export function encoderBatchTokens({ dims }: CepeManifest, spareBytes = 0, processes = 1): number {
  const { step, most } = GPU_ENCODER_TOKENS
  const further = Math.floor(spareBytes / processes / 4 / (step * ACTIVATION_BYTES * Math.max(1, dims.encoder_hidden_size)))
  return Math.min(most, step * (1 + further))
}

/**
 * Starts reader processes.
 * @throws model_invalid, config_invalid or provider_unavailable where the model cannot be loaded
 * @example
 * ```ts
 * import { createReader } from './src/inference/pool/models/create-reader.ts'
 *
 * const reader = await createReader({ modelDir: 'models/built/cepe' })
 * const contexts = ['Document (Title: Aida): Aida is an opera by Verdi.']
 * const { tokenIds } = await reader.generate({ promptIds: [1, 2, 3], contexts, contextTokens: 256, maxNewTokens: 25, stopIds: [13] })
 * await reader.close()
 * ```
 */
export async function createReader(options: ReaderOptions): Promise<Reader & DocumentReader & Generator & AheadEncoder & Supervised> {
  const manifest = await loadCepeManifest(options.modelDir)
  const spareBytes = await checkDevice(manifest, options)
  const pool = await createPool({
    ...options,
    options: {
      role: 'reader',
      ...commonChildOptions(options),
      batchTokens:
        options.batchTokens ?? (options.provider?.name === 'cuda' ? encoderBatchTokens(manifest, spareBytes, options.children) : ALONE),
      prefillTokens: options.prefillTokens ?? DEFAULT_PREFILL_TOKENS,
      stateCacheBytes: options.stateCacheBytes ?? DEFAULT_STATE_CACHE_BYTES,
      stateDtype: options.stateDtype ?? 'f32',
      stateDisk: options.stateDisk ?? null,
      replugBytes: options.replugBytes ?? DEFAULT_REPLUG_BYTES,
    },
  })
  const laneOf = ({ mode, sampling, grammar, topTokens = 0 }: AnswerRead): Lane =>
    mode === 'replug' || sampling || grammar || topTokens > 0 ? 'long' : 'question'
  return {
    manifest,
    answer: async (read, run) => withQueue(await runTask(pool, 'answer', read, { ...run, lane: laneOf(read) })),
    choices: async (read, run) => (await runTask(pool, 'choices', read, { ...run, lane: 'long' })).output,
    likelihoods: async (read, run) => (await runTask(pool, 'likelihoods', read, { ...run, lane: 'long' })).output,
    document: async (read, run) => withQueue(await runTask(pool, 'document', read, { ...run, lane: 'long' })),
    generate: async (request, run) => {
      checkGenerate(request, manifest)
      return withQueue(await runTask(pool, 'generate', request, { ...run, lane: request.sampling ? 'long' : 'question' }))
    },
    replug: async (request, run) => {
      checkReplug(request, manifest)
      return withQueue(await runTask(pool, 'replug', request, { ...run, lane: 'long' }))
    },
    score: async (request, run) => {
      checkScore(request, manifest)
      return (await runTask(pool, 'score', request, { ...run, lane: 'long' })).output
    },
    encodeAhead: async (input, run) => (await runTask(pool, 'encodeAhead', input, { ...run, lane: 'bulk' })).output,
    status: () => pool.status(),
    close: (closing) => pool.close(closing),
  }
}

/** Adds the time in the queue to a process's result. */
function withQueue<Result extends { readonly timingsMs: object }>({
  output,
  queueMs,
}: {
  readonly output: Result
  readonly queueMs: number
}) {
  return { ...output, timingsMs: { queue: queueMs, ...output.timingsMs } }
}

function absent(): CodedError {
  return new CodedError('not_found', 'This process is an indexer, which has no reader: ask a replica.')
}

/** Stands where a process has no reader: no model is loaded, nothing is answered. */
export function absentReader(): Promise<Reader & DocumentReader & AheadEncoder & Supervised> {
  return Promise.resolve({
    get manifest(): CepeManifest {
      throw absent()
    },
    answer: () => Promise.reject(absent()),
    choices: () => Promise.reject(absent()),
    likelihoods: () => Promise.reject(absent()),
    document: () => Promise.reject(absent()),
    encodeAhead: () => Promise.reject(absent()),
    status: () => ({
      state: 'serving',
      children: [],
      ready: 0,
      busy: 0,
      queued: { question: 0, long: 0, bulk: 0 },
      restarts: 0,
      finished: 0,
      disruptions: 0,
    }),
    close: () => Promise.resolve(),
  })
}
