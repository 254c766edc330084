import { loadRerankerManifest } from '../../../../models/folder.ts'
import { ALONE } from '../../batches.ts'
import type { Reranker } from '../../contract.ts'
import { defaultBatchTokens } from './create-embedder.ts'
import { checkDeviceMemory } from './device-memory.ts'
import { createPool, runTask } from '../pool.ts'
import { commonChildOptions, type ProcessOptions, type Supervised } from './process-options.ts'

/**
 * Starts processes of a cross-encoder.
 * @throws model_invalid or provider_unavailable where the model cannot be loaded
 */
export async function createReranker(options: ProcessOptions): Promise<Reranker & Supervised> {
  const manifest = await loadRerankerManifest(options.modelDir)
  const cuda = options.provider?.name === 'cuda' ? options.provider : undefined
  if (cuda) await checkDeviceMemory(manifest, options.children ?? 1, cuda.deviceId)
  const batchTokens = cuda ? defaultBatchTokens(manifest.parameters, 'cuda') : ALONE
  const pool = await createPool({ ...options, options: { role: 'reranker', ...commonChildOptions(options), batchTokens } })
  return {
    manifest,
    rank: async (read, run) => (await runTask(pool, 'rank', read, { ...run, lane: 'question' })).output,
    status: () => pool.status(),
    close: (closing) => pool.close(closing),
  }
}
