import { setTimeout as delay } from 'node:timers/promises'
import type { Embed, EmbeddingModel, Models } from '../../index/contract.ts'
import { openIndex, type PassageIndex } from '../../index/open.ts'
import type { ReplicaCache } from '../../index/replica/replica-cache.ts'
import { modelId } from '../../models/manifest.ts'
import { withDisposer, type Disposer } from './disposer.ts'
import { calibrationFiles } from '../config.ts'
import type { Config } from '../settings.ts'
import { CodedError } from '../../base/errors.ts'
import { createReader } from '../inference/pool/create-reader.ts'
import type { Supervised } from '../inference/pool/process-options.ts'
import type { ReadinessCheck } from '../http/routes/health.ts'
import type { CountTokens } from '../http/routes/openai.ts'
import type { ProcessStatus } from '../http/observability/work-metrics.ts'
import { createAdmission } from '../inference/pool/admission.ts'
import { createEmbedder } from '../inference/pool/create-embedder.ts'
import { absentReader } from '../inference/pool/absent-reader.ts'
import type { Log } from '../inference/log.ts'
import { loadCepeManifest, loadContrieverManifest } from '../../models/folder.ts'
import { DEFAULT_DRAIN_MS } from '../inference/pool/contract.ts'
import type { DocumentParser } from '../documents/contract.ts'
import { createDocumentParser } from '../documents/parser.ts'
import { startAheadFollower, type AheadFollower } from '../jobs/ahead/ahead-follower.ts'
import { bulkEmbed } from '../jobs/bulk-embed.ts'
import { noJobs } from '../jobs/no-jobs.ts'
import type { Jobs, JobsOptions } from '../jobs/contract.ts'
import { createJobs } from '../jobs/jobs.ts'
import { chooseCalibration } from '../rag/calibration/choose.ts'
import type { DocumentServices } from '../rag/document.ts'
import type { AnswerServices } from '../rag/pipeline.ts'
import { startTestQuestion, type TestQuestion } from '../rag/test-question.ts'
import { loadDemonstrations } from '../rag/demonstrations.ts'
import type { Embedder, Embedders } from '../inference/contract.ts'
import { observedReader } from '../inference/observed-reader.ts'
import { fileLinks } from './file-links.ts'
import { indexCheck, keysCheck, processCheck, processStatus, storeCheck } from './health.ts'
import { chatTemplates, documentDefaults, openReader, openReranker, processOptions, readerOptions } from './open-reader.ts'
import { jobsDir, makeFolders, useScratch } from './paths.ts'
import {
  configuredRetrievers,
  eachOf,
  embedderChecks,
  embeddersOf,
  embeddingModel,
  tokenCounters,
  type RetrieverFolder,
} from './retrievers.ts'
import { replicaCacheOf, reachStore } from './stores.ts'
import { openKeys, type Keys } from '../keys/keys.ts'
import { createQuotas, type Quotas } from '../keys/quota.ts'

/** Everything that the HTTP application and the commands work with. */
export interface Services extends Embedders {
  readonly answering: AnswerServices
  readonly documents: { readonly services: DocumentServices; readonly parser: DocumentParser }
  readonly countTokens: CountTokens
  /** Tokens of a passage past what retriever or reader reads of it. */
  readonly unreadTokens: CountTokens
  readonly index: PassageIndex
  readonly jobs: Jobs
  readonly keys: Keys
  /** Why the table that replaced the one that is searched is not searched here; undefined where the newest is. */
  readonly newerTable: () => CodedError | undefined
  readonly readiness: () => Promise<readonly ReadinessCheck[]>
  readonly processes: () => readonly ProcessStatus[]
  /** Finishes accepted work for `drainMs` (default 30 s) at most, refuses what is left, and ends every process. */
  close(options?: { readonly drainMs?: number }): Promise<void>
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

function joinServices(config: Config, log: Log | undefined): Promise<Services> {
  return withDisposer(async (disposer) => {
    await (config.ROLE === 'replica' ? reachStore(config, log) : makeFolders(config))
    // What is quick to find wrong comes before the processes, whose models may take minutes to load.
    const demonstrations = config.DEMONSTRATIONS === '' ? [] : await loadDemonstrations(config.DEMONSTRATIONS)
    const keys = await openKeys({ dir: config.KEYS_DIR, ...(log && { log }) })
    disposer.add(() => keys.close())
    const quotas = await createQuotas({ dir: config.KEYS_DIR, keys, ...(log && { log }) })
    disposer.add(() => quotas.close())
    const folders = await configuredRetrievers(config)
    const replicaCache = await replicaCacheOf(config, folders, log)
    disposer.add(() => replicaCache?.close())
    const index = await openPassages(config, folders, log)
    disposer.add(() => index.close())
    const answers = config.ROLE !== 'indexer'
    const calibration = answers ? await calibrationOf(config, log) : undefined
    const templates = answers ? await chatTemplates(config, log) : {}
    const embedders = await startEmbedders(folders, config, disposer, log)
    const reranker = answers ? await openReranker(config, disposer, log) : undefined
    const { reader, places } = answers ? await openReader(config, log) : { reader: await absentReader(), places: 1 }
    disposer.add(() => reader.close({ drainMs: 0 }))
    const total = totalOf([reader, ...eachOf(embedders), ...(reranker ? [reranker] : [])])
    const answering: AnswerServices = {
      reader: answers ? observedReader(reader) : reader,
      ...(reranker && { reranker }),
      retriever: { ...embedders, index, method: config.RETRIEVAL },
      admission: quotas.around(createAdmission({ maxWaiting: config.QUEUE, concurrency: places, disruptions: total('disruptions') })),
      demonstrations,
      ...(calibration && { calibration }),
      ...(config.MIN_CONFIDENCE !== undefined && { minConfidence: config.MIN_CONFIDENCE }),
      ...templates,
      ...(config.SERVE_FILES && config.IMPORT_DIR !== undefined && { fileOf: fileLinks(config.BASE_PATH) }),
    }
    const parser = createDocumentParser({ parseMs: config.DOCUMENT_PARSE_MS })
    disposer.add(() => Promise.resolve(parser.close()))
    const ahead = config.ENCODE_AHEAD && answers ? startAheadFollower({ index, reader, ...(log && { log }) }) : undefined
    ahead?.follow()
    disposer.add(() => ahead?.close())
    const jobs =
      config.ROLE === 'replica' ? noJobs : createJobs({ ...jobsOptions(config, index, embedders, log), onIndexed: () => ahead?.follow() })
    const counters = await tokenCounters(folders, answers ? reader.manifest.qa_defaults.context_tokens : undefined)
    const asking = { services: answering, finishedRuns: total('finished'), deadlineMs: config.DEADLINE_MS }
    const testQuestion = answers ? startTestQuestion({ ...asking, ...(log && { log }) }) : undefined
    const parts = { answers, reader, reranker, embedders, index, jobs, keys, quotas, parser, replicaCache, ahead, testQuestion }
    return {
      answering,
      documents: { services: { reader, admission: answering.admission, ...documentDefaults(config) }, parser },
      ...embedders,
      ...counters,
      index,
      jobs,
      keys,
      newerTable: () => index.behind() ?? replicaCache?.status().refused,
      readiness: () => readinessOf(parts),
      processes: () => processesOf(parts),
      close: ({ drainMs = DEFAULT_DRAIN_MS } = {}) => closeParts(parts, drainMs),
    }
  })
}

/** An embedder for each retriever; the disposer ends their processes. */
function startEmbedders(folders: Awaited<ReturnType<typeof configuredRetrievers>>, config: Config, disposer: Disposer, log?: Log) {
  return embeddersOf(folders, async ({ dir }) => {
    const embedder = await createEmbedder({ ...processOptions(config, log), modelDir: dir })
    disposer.add(() => embedder.close({ drainMs: 0 }))
    return embedder
  })
}

/** The calibration of the reader that answers. */
async function calibrationOf(config: Config, log: Log | undefined) {
  return chooseCalibration(calibrationFiles(config), modelId(await loadCepeManifest(config.READER_DIR)), log)
}

/** Sums a count of all pools whenever it is called. */
function totalOf(pools: readonly Supervised[]) {
  return (count: 'finished' | 'disruptions') => () => pools.reduce((sum, pool) => sum + pool.status()[count], 0)
}

/** What a service watches and ends. */
interface Parts {
  /** False where the reader stands for none. */
  readonly answers: boolean
  readonly reader: Supervised
  readonly reranker: Supervised | undefined
  readonly embedders: Required<Embedders<Embedder & Supervised>>
  readonly index: PassageIndex
  readonly jobs: Jobs
  readonly keys: Keys
  readonly quotas: Quotas
  readonly parser: DocumentParser
  readonly replicaCache: ReplicaCache | undefined
  readonly ahead: AheadFollower | undefined
  readonly testQuestion: TestQuestion | undefined
}

async function readinessOf({
  answers,
  reader,
  reranker,
  embedders,
  index,
  keys,
  testQuestion,
  replicaCache,
}: Parts): Promise<readonly ReadinessCheck[]> {
  const checks = await Promise.all([
    ...(answers ? [processCheck('reader', reader)] : []),
    ...(reranker ? [processCheck('reranker', reranker)] : []),
    embedderChecks(index, embedders),
    indexCheck(index),
    ...(testQuestion ? [testQuestion.check()] : []),
    ...(replicaCache ? [storeCheck(replicaCache)] : []),
    keysCheck(keys),
  ])
  return checks.flat()
}

function processesOf({ answers, reader, reranker, embedders }: Parts): readonly ProcessStatus[] {
  const embedding = processStatus('embedder', ...eachOf(embedders).map((one) => one.status()))
  const ranking = reranker ? [processStatus('reranker', reranker.status())] : []
  return answers ? [processStatus('reader', reader.status()), ...ranking, embedding] : [embedding]
}

async function closeParts(parts: Parts, drainMs: number): Promise<void> {
  const { reader, reranker, embedders, index, jobs, keys, quotas, ahead } = parts
  parts.testQuestion?.close()
  parts.replicaCache?.close()
  parts.parser.close()
  // A job at work ends with its batch, or with its embedder.
  const stopped = Promise.all([jobs.close(), ahead?.close()])
  await Promise.race([stopped, delay(drainMs, undefined, { ref: false })])
  await Promise.all([reader, ...(reranker ? [reranker] : []), ...eachOf(embedders)].map((one) => one.close({ drainMs })))
  await Promise.all([stopped, quotas.close()])
  keys.close()
  index.close()
}

/** @throws config_invalid where encoder states may take no disk */
export function requireStateDisk({ STATE_DISK_MB }: Config): void {
  if (STATE_DISK_MB > 0) return
  throw new CodedError('config_invalid', 'Set CEPE_STATE_DISK_MB to the disk that encoder states may take.', {
    field: 'CEPE_STATE_DISK_MB',
  })
}

/** The index and a reader that stores states, without the rest: for the shell. */
export async function createAheadEncoding(config: Config, log?: Log) {
  return withDisposer(async (disposer) => {
    const index = await openPassages(config, await configuredRetrievers(config), log)
    disposer.add(() => index.close())
    await index.info()
    const reader = await createReader(readerOptions(config, log))
    return {
      index,
      reader,
      close: async () => {
        await reader.close({ drainMs: 0 })
        index.close()
      },
    }
  })
}

/** The index and its jobs without the reader. */
export interface Indexing {
  readonly index: PassageIndex
  readonly jobs: Jobs
  close(): Promise<void>
}

/** For indexing from the shell and at the first start. The embedder is only started when a job needs it. */
export async function createIndexing(config: Config, log?: Log): Promise<Indexing> {
  await makeFolders(config)
  const folders = await configuredRetrievers(config)
  const embedders = await embeddersOf(folders, (folder) => Promise.resolve(embedderOnDemand(folder, config, log)))
  const index = await openPassages(config, folders, log)
  const jobs = createJobs(jobsOptions(config, index, embedders, log))
  return {
    index,
    jobs,
    close: async () => {
      await jobs.close()
      await Promise.all(eachOf(embedders).map((one) => one.close()))
      index.close()
    },
  }
}

/** For embedding alone: passages as they are embedded for the index. */
export interface Embedding {
  readonly model: EmbeddingModel
  readonly embed: Embed
  close(): Promise<void>
}

/** Starts an embedder without an index. */
export async function createEmbedding(config: Config, log?: Log): Promise<Embedding> {
  const embedder = await createEmbedder({ ...processOptions(config, log), modelDir: config.RETRIEVER_DIR })
  return { model: embeddingModel(embedder.manifest), embed: bulkEmbed(embedder), close: () => embedder.close({ drainMs: 0 }) }
}

/** The model of passages and questions, without starting it. */
export async function configuredModel(config: Config): Promise<EmbeddingModel> {
  return embeddingModel(await loadContrieverManifest(config.RETRIEVER_DIR))
}

function embedderOnDemand({ dir, manifest }: RetrieverFolder, config: Config, log: Log | undefined): Embedder & { close(): Promise<void> } {
  let started: Promise<Embedder & Supervised> | undefined
  const start = (): Promise<Embedder & Supervised> =>
    (started ??= createEmbedder({ ...processOptions(config, log), modelDir: dir }).catch((error: unknown) => {
      // What kept it from starting may have been mended when it is needed again.
      started = undefined
      throw error
    }))
  return {
    manifest,
    embed: async (texts, run) => (await start()).embed(texts, run),
    close: async () => {
      const embedder = await started?.catch(() => undefined)
      await embedder?.close()
    },
  }
}

function jobsOptions(config: Config, index: PassageIndex, embedders: Embedders, log: Log | undefined): JobsOptions {
  return {
    index,
    ...embedders,
    jobsDir: jobsDir(config),
    importDir: config.IMPORT_DIR,
    fileBounds: { parseMs: config.DOCUMENT_PARSE_MS, maxBytes: config.DOCUMENT_MB * 2 ** 20 },
    maxUploadBytes: config.UPLOAD_LIMIT_MB * 2 ** 20,
    policy: { exactBelow: config.EXACT_BELOW, minRecall: config.MIN_RECALL, keepMs: config.KEEP_VERSIONS_MIN * 60_000 },
    ...(log && { log }),
  }
}

async function openPassages(config: Config, { model, furtherModels = [] }: Models, log: Log | undefined): Promise<PassageIndex> {
  await useScratch()
  return openIndex({
    dir: config.ROLE === 'replica' ? (config.MIRROR_DIR ?? config.INDEX_DIR) : config.INDEX_DIR,
    readOnly: config.ROLE === 'replica',
    table: config.TABLE,
    keepMs: config.KEEP_VERSIONS_MIN * 60_000,
    model,
    furtherModels,
    ...(log && { onWarning: (message: string) => log('warn', message) }),
  })
}
