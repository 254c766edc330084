import path from 'node:path'
import { openIndex, type PassageIndex } from '../index/open.ts'
import { modelId, type ContrieverManifest } from '../models/manifest.ts'
import type { Config } from './config.ts'
import { CodedError, messageOf } from '../base/errors.ts'
import type { ReadinessCheck } from './http/routes/health.ts'
import type { ProcessStatus } from './http/routes/metrics.ts'
import { createEmbedder } from './inference/pool/create-embedder.ts'
import { createReader } from './inference/pool/create-reader.ts'
import type { Log } from './inference/log.ts'
import { readContrieverManifest } from './inference/model-folder.ts'
import type { PoolStatus } from './inference/pool/pool.ts'
import type { ProcessOptions, Supervised } from './inference/pool/process-options.ts'
import { createJobs, type Jobs, type JobsOptions } from './jobs/jobs.ts'
import type { AnswerServices } from './rag/answer.ts'
import { loadDemonstrations } from './rag/demonstrations.ts'
import { loadTokenizer } from './text/tokenizer.ts'
import type { Embedder, Reader } from './inference/contract.ts'

/** Everything that the HTTP application and the commands work with. */
export interface Services {
  readonly answering: AnswerServices
  readonly embedder: Embedder
  /** Tokens that the retriever reads of a text. */
  readonly countTokens: (text: string) => number
  readonly index: PassageIndex
  readonly jobs: Jobs
  readonly readiness: () => Promise<readonly ReadinessCheck[]>
  readonly processes: () => readonly ProcessStatus[]
  close(): Promise<void>
}

/** The composition root: the only place where processes, the index and the pipeline are constructed and joined. */
export async function createServices(config: Config, log?: Log): Promise<Services> {
  try {
    return await joinServices(config, log)
  } catch (error) {
    if (!(config.CPU_FALLBACK && config.PROVIDER === 'cuda' && error instanceof CodedError && error.code === 'provider_unavailable'))
      throw error
    log?.('warn', `${error.message} Running on the CPU, as CEPE_CPU_FALLBACK allows.`)
    return joinServices({ ...config, PROVIDER: 'cpu' }, log)
  }
}

async function joinServices(config: Config, log: Log | undefined): Promise<Services> {
  const [reader, embedder, demonstrations] = await startAll(
    createReader({
      ...processOptions(config, log),
      modelDir: config.READER_DIR,
      children: config.READERS,
      stateCacheBytes: config.STATE_CACHE_MB * 2 ** 20,
    }),
    createEmbedder({ ...processOptions(config, log), modelDir: config.RETRIEVER_DIR }),
    config.DEMONSTRATIONS === '' ? Promise.resolve([]) : loadDemonstrations(config.DEMONSTRATIONS),
  )
  const index = await openPassages(config, embedder.manifest, log)
  const answering: AnswerServices = {
    reader,
    tokenizer: await readerTokenizer(config.READER_DIR, reader),
    retriever: { embedder, index, method: config.RETRIEVAL },
    demonstrations,
  }
  const jobs = createJobs(jobsOptions(config, index, embedder, log))
  const countTokens = await tokenCounter(config.RETRIEVER_DIR, embedder.manifest)
  return {
    answering,
    embedder,
    countTokens,
    index,
    jobs,
    readiness: () => Promise.all([processCheck('reader', reader), processCheck('embedder', embedder), indexCheck(index)]),
    processes: () => [processStatus('reader', reader.status()), processStatus('embedder', embedder.status())],
    close: async () => {
      await jobs.close()
      await Promise.all([reader.close(), embedder.close()])
      index.close()
    },
  }
}

/** The index and its jobs without the reader. */
export interface Indexing {
  readonly index: PassageIndex
  readonly jobs: Jobs
  close(): Promise<void>
}

/** For indexing from the shell and at the first start. The embedder is only started when a job needs it. */
export async function createIndexing(config: Config, log?: Log): Promise<Indexing> {
  const options = { ...processOptions(config, log), modelDir: config.RETRIEVER_DIR }
  const manifest = await readContrieverManifest(options.modelDir)
  let started: Promise<Embedder & Supervised> | undefined
  const embedder: Embedder = { manifest, embed: async (texts, run) => (await (started ??= createEmbedder(options))).embed(texts, run) }
  const index = await openPassages(config, manifest, log)
  const jobs = createJobs(jobsOptions(config, index, embedder, log))
  return {
    index,
    jobs,
    close: async () => {
      await jobs.close()
      await (await started)?.close()
      index.close()
    },
  }
}

function jobsOptions(config: Config, index: PassageIndex, embedder: Embedder, log: Log | undefined): JobsOptions {
  return {
    index,
    embedder,
    jobsDir: config.JOBS_DIR ?? path.join(config.INDEX_DIR, 'jobs'),
    importDir: config.IMPORT_DIR,
    maxUploadBytes: config.UPLOAD_LIMIT_MB * 2 ** 20,
    policy: { exactBelow: config.EXACT_BELOW, minRecall: config.MIN_RECALL },
    ...(log && { log }),
  }
}

function processOptions(config: Config, log: Log | undefined): Omit<ProcessOptions, 'modelDir'> {
  return {
    threads: config.THREADS,
    provider: config.PROVIDER === 'cuda' ? { name: 'cuda', deviceId: config.DEVICE_ID } : { name: 'cpu' },
    maxQueue: config.QUEUE,
    ...(log && { log }),
  }
}

/** Waits for all; where one fails, those that started are closed before its error is passed on. */
async function startAll<A extends Supervised, B extends Supervised, C>(
  first: Promise<A>,
  second: Promise<B>,
  third: Promise<C>,
): Promise<[A, B, C]> {
  const [a, b, c] = await Promise.allSettled([first, second, third])
  if (a.status === 'fulfilled' && b.status === 'fulfilled' && c.status === 'fulfilled') return [a.value, b.value, c.value]
  for (const started of [a, b]) if (started.status === 'fulfilled') await started.value.close()
  throw [a, b, c].find((result) => result.status === 'rejected')?.reason
}

function openPassages(config: Config, manifest: ContrieverManifest, log: Log | undefined): Promise<PassageIndex> {
  return openIndex({
    dir: config.INDEX_DIR,
    table: config.TABLE,
    model: { id: modelId(manifest), dimension: manifest.dims.hidden_size },
    ...(log && { onWarning: (message: string) => log('warn', message) }),
  })
}

async function readerTokenizer(modelDir: string, { manifest }: Reader): Promise<AnswerServices['tokenizer']> {
  const { bos_id: bosId, eos_ids: eosIds } = manifest.tokens
  const tokenizer = await loadTokenizer(modelDir, { bosId, eosIds })
  return { bosId, stopIds: tokenizer.stopIds('\n'), encode: (text) => tokenizer.encode(text), decode: (ids) => tokenizer.decode(ids) }
}

/** Counts what the retriever reads: a text's tokens up to its window, the two that frame them included. */
async function tokenCounter(modelDir: string, { dims: { window } }: ContrieverManifest): Promise<(text: string) => number> {
  const tokenizer = await loadTokenizer(modelDir, { bosId: null, eosIds: [] })
  return (text) => tokenizer.encode(text, { maxTokens: window - 2 }).length + 2
}

function processStatus(role: string, { queued, busy, ready, restarts }: PoolStatus): ProcessStatus {
  return { role, queued: queued.question + queued.bulk, busy, ready, restarts }
}

function processCheck(name: string, process: Supervised): Promise<ReadinessCheck> {
  const { ready, restarts, lastError } = process.status()
  return Promise.resolve({ name, ok: ready > 0, detail: lastError ?? `${ready} ready, ${restarts} restarts` })
}

function indexCheck(index: PassageIndex): Promise<ReadinessCheck> {
  return index.info().then(
    ({ table, rows, version }) => ({ name: 'index', ok: true, detail: `table ${table}, version ${version}, ${rows} passages` }),
    (error: unknown) => ({ name: 'index', ok: false, detail: messageOf(error) }),
  )
}
