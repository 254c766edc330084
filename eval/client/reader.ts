import { modelId, type CepeManifest } from '../../models/manifest.ts'
import { usableCores } from '../../src/inference/pool/allotment.ts'
import { createProgress } from '../../src/cli/progress.ts'
import { loadConfig } from '../../src/config.ts'
import type { Config } from '../../src/settings.ts'
import type { Embedder, Generator, Reader } from '../../src/inference/contract.ts'
import { createEmbedder } from '../../src/inference/pool/create-embedder.ts'
import { createReader } from '../../src/inference/pool/create-reader.ts'
import { ensureReader, ensureRetriever } from '../../src/service/setup.ts'
import { loadTokenizer, type Tokenizer } from '../../src/text/tokenizer.ts'

/** The reader and the retriever themselves, asked with token ids: the limits of the HTTP API do not bind it. */
export interface ReaderClient {
  readonly name: string
  /** Name, revision and precision of the reader. */
  readonly model: string
  readonly manifest: CepeManifest
  readonly reader: Reader & Generator
  readonly tokenizer: Tokenizer
  /** Contriever's embeddings; its process is started when they are first asked for. */
  embed(texts: readonly string[]): Promise<readonly Float32Array[]>
  close(): Promise<void>
}

/**
 * Starts the reader in processes of this one, with the service's own settings, `overrides` first. Encoder states are not
 * cached between requests, so that every setting pays for what it reads.
 * @throws config_invalid, model_invalid
 */
export async function createReaderClient(overrides: Partial<Record<keyof Config, unknown>> = {}): Promise<ReaderClient> {
  const config = loadConfig(overrides)
  await ensureReader(config, createProgress)
  const common = {
    threads: config.THREADS ?? usableCores(),
    provider: config.PROVIDER === 'cuda' ? ({ name: 'cuda', deviceId: config.DEVICE_ID } as const) : ({ name: 'cpu' } as const),
  }
  const reader = await createReader({ ...common, modelDir: config.READER_DIR, stateCacheBytes: 0 })
  const { bos_id: bosId, eos_ids: eosIds } = reader.manifest.tokens
  let embedder: ReturnType<typeof createEmbedder> | undefined
  const started = (): Promise<Embedder> =>
    (embedder ??= ensureRetriever(config, createProgress).then(() => createEmbedder({ ...common, modelDir: config.RETRIEVER_DIR })))
  return {
    name: 'in process',
    model: modelId(reader.manifest),
    manifest: reader.manifest,
    reader,
    tokenizer: await loadTokenizer(config.READER_DIR, { bosId, eosIds }),
    embed: async (texts) => (await started()).embed(texts, { priority: 'bulk' }),
    close: async () => {
      await reader.close()
      await (await embedder)?.close()
    },
  }
}
