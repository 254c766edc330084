import { modelId } from '../../models/manifest.ts'
import { createProgress } from '../../src/cli/program/progress.ts'
import { loadConfig } from '../../src/config.ts'
import type { Config } from '../../src/settings.ts'
import type { Embedder, Generator, Reader } from '../../src/inference/contract.ts'
import { createEmbedder } from '../../src/inference/pool/models/create-embedder.ts'
import { createReader } from '../../src/inference/pool/models/create-reader.ts'
import { deviceOptions } from '../../src/service/models.ts'
import { ensureReader, ensureRetriever } from '../../src/service/setup.ts'
import { loadTokenizer } from '../../src/text/tokenizer.ts'

/** Reader and retriever, called with token ids, without the limits of the HTTP API. */
export type ReaderClient = Awaited<ReturnType<typeof createReaderClient>>

/**
 * Starts the reader in child processes with the service's settings and `overrides`. Encoder states are not cached between requests, so that
 * every setting pays for what it reads.
 * @throws config_invalid, model_invalid
 */
export async function createReaderClient(overrides: Partial<Record<keyof Config, unknown>> = {}) {
  const config = loadConfig(overrides)
  await ensureReader(config, createProgress)
  const common = deviceOptions(config)
  const reader = await createReader({ ...common, modelDir: config.READER_DIR, promptCacheBytes: 0, stateCacheBytes: 0 })
  let embedder: ReturnType<typeof createEmbedder> | undefined
  const started = (): Promise<Embedder> =>
    (embedder ??= ensureRetriever(config, createProgress).then(() => createEmbedder({ ...common, modelDir: config.RETRIEVER_DIR })))
  return {
    name: 'in process',
    /** Name, revision and precision of the reader. */
    model: modelId(reader.manifest),
    manifest: reader.manifest,
    reader: reader as Reader & Generator,
    tokenizer: await loadTokenizer(config.READER_DIR, reader.manifest.tokens),
    /** Contriever's embeddings; its process starts on first use. */
    embed: async (texts: readonly string[]): Promise<readonly Float32Array[]> => (await started()).embed(texts, { priority: 'bulk' }),
    close: async () => {
      await reader.close()
      await (await embedder)?.close()
    },
  }
}
