import { at, present } from '../../../../base/at.ts'
import { CodedError } from '../../../../base/errors.ts'
import { ALONE, defaultBatchTokens } from '../../batches.ts'
import type { EmbedOptions, Embedder, Reranker } from '../../contract.ts'
import type { EncoderChildOptions } from '../../protocol.ts'
import { loadContrieverManifest, loadRerankerManifest } from '../../../../models/folder.ts'
import { createPool, methodOf } from '../pool.ts'
import { type ProcessOptions, type Supervised, checkDevice, commonChildOptions } from './process-options.ts'
import { POOL_DEFAULTS } from '../contract.ts'

/** Target duration of a bulk batch, by the duration of earlier ones: a question waits for one batch at most. */
const BULK_BATCH_MS = 100

/** UTF-8 bytes per token for sizing bulk batches: fewer than in running text, so that batches come out small. */
const BYTES_PER_TOKEN = 3
const FIRST_BATCH_TOKENS = 512

/** Default of batchTokens: {@link ALONE} on a CPU, {@link defaultBatchTokens} on a GPU. */
type EmbedderOptions = ProcessOptions & Partial<Pick<EncoderChildOptions, 'batchTokens'>>

/**
 * Starts embedder processes.
 * @throws model_invalid, config_invalid or provider_unavailable where the model cannot be loaded
 * @example
 * ```ts
 * import { createEmbedder } from './src/inference/pool/models/create-embedder.ts'
 *
 * const embedder = await createEmbedder({ modelDir: 'models/built/retriever' })
 * const [vector] = await embedder.embed(['who wrote aida'], { priority: 'question' })
 * await embedder.close()
 * ```
 */
export async function createEmbedder(options: EmbedderOptions): Promise<Embedder & Supervised> {
  const manifest = await loadContrieverManifest(options.modelDir)
  await checkDevice(manifest, options)
  const { hidden_size, window } = manifest.dims
  const provider = options.provider?.name ?? 'cpu'
  const batchTokens = options.batchTokens ?? defaultBatchTokens(manifest.parameters, provider)
  const runTokens = options.batchTokens ?? (provider === 'cuda' ? batchTokens : ALONE)
  const maxBulkCalls = (options.maxQueue ?? POOL_DEFAULTS.maxQueue) + (options.children ?? 1)
  const pool = await createPool({ ...options, options: { role: 'embedder', ...commonChildOptions(options), batchTokens: runTokens } })
  let bulkCalls = 0
  /** Moving average over bulk batches; the first is small. On a GPU batches are sized by tokens only: their composition affects results. */
  let msPerToken = BULK_BATCH_MS / Math.min(batchTokens, FIRST_BATCH_TOKENS)

  const embedBatch = async (texts: readonly string[], { priority, ...run }: EmbedOptions) => {
    const admitted = priority === 'bulk' || run.admitted === true
    const { output, runMs } = await pool.run({ task: 'embed', input: texts }, { ...run, lane: priority, admitted })
    const all = output as Float32Array
    return { vectors: texts.map((_, index) => all.subarray(index * hidden_size, (index + 1) * hidden_size)), runMs }
  }

  /** Sequential batches, so that questions run in between. */
  const embedBulk = async (texts: readonly string[], run: EmbedOptions): Promise<Float32Array[]> => {
    // A call is admitted as a whole: it never fails halfway because questions fill the queue.
    if (bulkCalls >= maxBulkCalls)
      throw new CodedError('overloaded', `${bulkCalls} bulk calls wait for the embedder already. Try again later.`, { retryAfterS: 1 })
    bulkCalls++
    try {
      const until = performance.now() + (run.deadlineMs ?? Infinity)
      const lengths = texts.map((text) => Math.min(window, 2 + Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN)))
      const vectors = new Map<number, Float32Array>()
      // Longest first, so that a batch holds texts of similar length.
      let left = [...texts.keys()].sort((a, b) => at(lengths, b) - at(lengths, a))
      while (left.length > 0) {
        const longest = at(lengths, at(left, 0))
        const count = Math.max(1, Math.floor(Math.min(batchTokens, provider === 'cuda' ? Infinity : BULK_BATCH_MS / msPerToken) / longest))
        const batch = left.slice(0, count)
        left = left.slice(count)
        const own = batch.map((index) => at(texts, index))
        const embedded = await embedBatch(own, { ...run, deadlineMs: until - performance.now() })
        msPerToken = 0.8 * msPerToken + (0.2 * embedded.runMs) / (longest * batch.length)
        batch.forEach((index, row) => vectors.set(index, at(embedded.vectors, row)))
      }
      return texts.map((_, index) => present(vectors.get(index)))
    } finally {
      bulkCalls--
    }
  }

  return {
    manifest,
    embed: async (texts, run) => {
      if (texts.length === 0) return []
      return run.priority === 'bulk' ? embedBulk(texts, run) : (await embedBatch(texts, run)).vectors
    },
    status: () => pool.status(),
    close: (closing) => pool.close(closing),
  }
}

/** Starts processes of a cross-encoder. @throws model_invalid, config_invalid or provider_unavailable where the model cannot be loaded */
export async function createReranker(options: ProcessOptions): Promise<Reranker & Supervised> {
  const manifest = await loadRerankerManifest(options.modelDir)
  await checkDevice(manifest, options)
  const batchTokens = options.provider?.name === 'cuda' ? defaultBatchTokens(manifest.parameters, 'cuda') : ALONE
  const pool = await createPool({ ...options, options: { role: 'reranker', ...commonChildOptions(options), batchTokens } })
  return { manifest, rank: methodOf(pool, 'rank', () => 'question'), status: () => pool.status(), close: (closing) => pool.close(closing) }
}
