import { loadRerankerManifest } from '../../../../models/folder.ts'
import { ALONE } from '../../batches.ts'
import type { Reranker } from '../../contract.ts'
import { defaultBatchTokens } from './create-embedder.ts'
import { checkDevice } from './check-device.ts'
import { createPool, runTask } from '../pool.ts'
import { commonChildOptions, type ProcessOptions, type Supervised } from './process-options.ts'

/**
 * Starts processes of a cross-encoder.
 * @throws model_invalid, config_invalid or provider_unavailable where the model cannot be loaded
 */
export async function createReranker(options: ProcessOptions): Promise<Reranker & Supervised> {
  const manifest = await loadRerankerManifest(options.modelDir)
  await checkDevice(manifest, options)
  const batchTokens = options.provider?.name === 'cuda' ? defaultBatchTokens(manifest.parameters, 'cuda') : ALONE
  const pool = await createPool({ ...options, options: { role: 'reranker', ...commonChildOptions(options), batchTokens } })
  return {
    manifest,
    rank: async (read, run) => (await runTask(pool, 'rank', read, { ...run, lane: 'question' })).output,
    status: () => pool.status(),
    close: (closing) => pool.close(closing),
  }
}
