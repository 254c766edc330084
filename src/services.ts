import { openIndex, type PassageIndex } from '../index/open.ts'
import { modelId, type ContrieverManifest } from '../models/manifest.ts'
import type { Config } from './config.ts'
import { messageOf } from './errors.ts'
import type { ReadinessCheck } from './http/routes/health.ts'
import type { ProcessStatus } from './http/routes/metrics.ts'
import { createEmbedder } from './inference/create-embedder.ts'
import { createReader } from './inference/create-reader.ts'
import type { Log } from './inference/log.ts'
import type { PoolStatus } from './inference/pool.ts'
import type { ProcessOptions, Supervised } from './inference/process-options.ts'
import type { AnswerServices } from './rag/answer.ts'
import { loadDemonstrations } from './rag/demonstrations.ts'
import type { PassageSource } from './rag/retrieve.ts'
import { loadTokenizer } from './text/tokenizer.ts'
import type { Embedder, Reader } from './inference/contract.ts'

/** Everything that the HTTP application and the commands work with. */
export interface Services {
  readonly answering: AnswerServices
  readonly readiness: () => Promise<readonly ReadinessCheck[]>
  readonly processes: () => readonly ProcessStatus[]
  close(): Promise<void>
}

/** The composition root: the only place where processes, the index and the pipeline are constructed and joined. */
export async function createServices(config: Config, log?: Log): Promise<Services> {
  const [reader, embedder, demonstrations] = await startAll(
    createReader({ ...processOptions(config, log), modelDir: config.READER_DIR, children: config.READERS, stateCacheBytes: config.STATE_CACHE_MB * 2 ** 20 }),
    createEmbedder({ ...processOptions(config, log), modelDir: config.RETRIEVER_DIR }),
    config.DEMONSTRATIONS === '' ? Promise.resolve([]) : loadDemonstrations(config.DEMONSTRATIONS),
  )
  const index = await openPassages(config, embedder.manifest, log)
  const answering: AnswerServices = { reader, tokenizer: await readerTokenizer(config.READER_DIR, reader), retriever: { embedder, index: passageSource(index) }, demonstrations }
  return {
    answering,
    readiness: () => Promise.all([processCheck('reader', reader), processCheck('embedder', embedder), indexCheck(index)]),
    processes: () => [processStatus('reader', reader.status()), processStatus('embedder', embedder.status())],
    close: async () => {
      await Promise.all([reader.close(), embedder.close()])
      index.close()
    },
  }
}

/** What the embedding process alone needs: for indexing from the shell. */
export const createIndexing = async (config: Config, log?: Log): Promise<{ embedder: Embedder & Supervised; index: PassageIndex }> => {
  const embedder = await createEmbedder({ ...processOptions(config, log), modelDir: config.RETRIEVER_DIR })
  return { embedder, index: await openPassages(config, embedder.manifest, log) }
}

const processOptions = (config: Config, log: Log | undefined): Omit<ProcessOptions, 'modelDir'> => ({
  threads: config.THREADS,
  provider: config.PROVIDER === 'cuda' ? { name: 'cuda', deviceId: config.DEVICE_ID } : { name: 'cpu' },
  maxQueue: config.QUEUE,
  ...(log && { log }),
})

/** Waits for all; where one fails, those that started are closed before its error is passed on. */
async function startAll<A extends Supervised, B extends Supervised, C>(first: Promise<A>, second: Promise<B>, third: Promise<C>): Promise<[A, B, C]> {
  const [a, b, c] = await Promise.allSettled([first, second, third])
  if (a.status === 'fulfilled' && b.status === 'fulfilled' && c.status === 'fulfilled') return [a.value, b.value, c.value]
  for (const started of [a, b]) if (started.status === 'fulfilled') await started.value.close()
  throw [a, b, c].find((result) => result.status === 'rejected')?.reason
}

const openPassages = (config: Config, manifest: ContrieverManifest, log: Log | undefined): Promise<PassageIndex> =>
  openIndex({
    dir: config.INDEX_DIR,
    table: config.TABLE,
    model: { id: modelId(manifest), dimension: manifest.dims.hidden_size },
    ...(log && { onWarning: (message: string) => log('warn', message) }),
  })

const passageSource = (index: PassageIndex): PassageSource => ({
  search: (vector, options) => index.search(vector, options),
  searchText: (query, options) => index.searchText(query, options),
  searchHybrid: (query, vector, options) => index.searchHybrid(query, vector, options),
  version: async () => {
    const { table, version, rows } = await index.info()
    return { table, version, passages: rows }
  },
})

async function readerTokenizer(modelDir: string, { manifest }: Reader): Promise<AnswerServices['tokenizer']> {
  const { bos_id: bosId, eos_ids: eosIds } = manifest.tokens
  const tokenizer = await loadTokenizer(modelDir, { bosId, eosIds })
  return { bosId, stopIds: tokenizer.stopIds('\n'), encode: (text) => tokenizer.encode(text), decode: (ids) => tokenizer.decode(ids) }
}

const processStatus = (role: string, { queued, busy, ready, restarts }: PoolStatus): ProcessStatus => ({ role, queued: queued.question + queued.bulk, busy, ready, restarts })

const processCheck = (name: string, process: Supervised): Promise<ReadinessCheck> => {
  const { ready, restarts, lastError } = process.status()
  return Promise.resolve({ name, ok: ready > 0, detail: lastError ?? `${ready} ready, ${restarts} restarts` })
}

const indexCheck = (index: PassageIndex): Promise<ReadinessCheck> =>
  index.info().then(
    ({ table, rows, version }) => ({ name: 'index', ok: true, detail: `table ${table}, version ${version}, ${rows} passages` }),
    (error: unknown) => ({ name: 'index', ok: false, detail: messageOf(error) }),
  )
