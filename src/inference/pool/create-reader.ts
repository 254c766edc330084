import type { Reader } from '../contract.ts'
import { checkDeviceMemory } from './device-memory.ts'
import { readCepeManifest } from '../model-folder.ts'
import { createPool, runTask } from './pool.ts'
import { commonChildOptions, type ProcessOptions, type Supervised } from './process-options.ts'
import { checkGenerate, checkReplug, checkScore } from './requests.ts'

/** Padded tokens of one encoder run: enough for full matrix-product speed, few enough to bound activations. */
export const DEFAULT_ENCODER_BATCH_TOKENS = 1024
/** Prompt tokens of one run of the step graph, whose logits take vocabulary x 4 bytes each (LLaMA-2: 31 MiB in all). */
export const DEFAULT_PREFILL_TOKENS = 256
export const DEFAULT_STATE_CACHE_BYTES = 256 * 2 ** 20

export interface ReaderOptions extends ProcessOptions {
  /** Padded tokens of one encoder run. Default {@link DEFAULT_ENCODER_BATCH_TOKENS}. */
  readonly batchTokens?: number
  /** Prompt tokens read at a time for scoring, sampling and RePlug. Default {@link DEFAULT_PREFILL_TOKENS}. */
  readonly prefillTokens?: number
  /** Memory of each process for encoder states of passages; 0 for none. Default {@link DEFAULT_STATE_CACHE_BYTES}. */
  readonly stateCacheBytes?: number
}

/**
 * Starts reader processes.
 * @throws model_invalid or provider_unavailable where the model cannot be loaded
 */
export async function createReader(options: ReaderOptions): Promise<Reader & Supervised> {
  const manifest = await readCepeManifest(options.modelDir)
  if (options.provider?.name === 'cuda') await checkDeviceMemory(manifest, options.children ?? 1, options.provider.deviceId)
  const pool = await createPool({
    ...options,
    options: {
      role: 'reader',
      ...commonChildOptions(options),
      batchTokens: options.batchTokens ?? DEFAULT_ENCODER_BATCH_TOKENS,
      prefillTokens: options.prefillTokens ?? DEFAULT_PREFILL_TOKENS,
      stateCacheBytes: options.stateCacheBytes ?? DEFAULT_STATE_CACHE_BYTES,
    },
  })
  return {
    manifest,
    generate: async (request, run) => {
      checkGenerate(request, manifest)
      const { output, queueMs } = await runTask(pool, 'generate', request, run)
      return { ...output, timingsMs: { queue: queueMs, ...output.timingsMs } }
    },
    replug: async (request, run) => {
      checkReplug(request, manifest)
      const { output, queueMs } = await runTask(pool, 'replug', request, run)
      return { ...output, timingsMs: { queue: queueMs, ...output.timingsMs } }
    },
    score: async (request, run) => {
      checkScore(request, manifest)
      return (await runTask(pool, 'score', request, run)).output
    },
    status: () => pool.status(),
    close: (closing) => pool.close(closing),
  }
}
