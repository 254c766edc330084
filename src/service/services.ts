import { setTimeout as delay } from 'node:timers/promises'
import type { Collections } from '../../index/collections/contract.ts'
import type { PassageIndex } from '../../index/open.ts'
import type { ReplicaCache } from '../../index/replica/replica-cache.ts'
import { withDisposer, type Disposer } from './disposer.ts'
import type { Config } from '../settings.ts'
import { CodedError } from '../../base/errors.ts'
import type { Supervised } from '../inference/pool/models/process-options.ts'
import type { ReadinessCheck } from '../http/routes/health.ts'
import type { CountTokens } from '../http/routes/openai/routes.ts'
import type { ProcessStatus } from '../http/observability/metrics.ts'
import { createAdmission } from '../inference/pool/admission.ts'
import { createEmbedder } from '../inference/pool/models/create-embedder.ts'
import { absentReader } from '../inference/pool/models/absent-reader.ts'
import type { Log } from '../inference/log.ts'
import { DEFAULT_DRAIN_MS } from '../inference/pool/contract.ts'
import type { DocumentParser } from '../documents/contract.ts'
import { createDocumentParser } from '../documents/parser.ts'
import { startAheadFollower, type AheadFollower } from '../jobs/ahead/encode-ahead.ts'
import type { Jobs } from '../jobs/contract.ts'
import { createJobs, noJobs } from '../jobs/jobs.ts'
import type { DocumentServices } from '../rag/document.ts'
import type { AnswerServices } from '../rag/pipeline.ts'
import { startTestQuestion, type TestQuestion } from '../rag/test-question.ts'
import { loadDemonstrations } from '../rag/demonstrations.ts'
import { embedderOf, type Embedder, type Embedders } from '../inference/contract.ts'
import { bulkEmbed } from '../jobs/bulk-embed.ts'
import { observedReader } from '../inference/observed-reader.ts'
import { fileLinks, makeFolders, servedFiles } from './paths.ts'
import { indexCheck, keysCheck, processCheck, processStatus, storeCheck } from './health.ts'
import { answerDefaults, documentDefaults, openReader, openReranker, processOptions } from './open-reader.ts'
import { jobsOptions } from './indexing.ts'
import { openTables, replicaCacheOf, reachStore } from './open-passages.ts'
import { configuredRetrievers, eachOf, embedderChecks, embeddersOf, tokenCounters } from './retrievers.ts'
import { openKeys, type Keys } from '../keys/keys.ts'
import { createQuotas, type Quotas } from '../keys/quota.ts'

/** Dependencies of the HTTP application and the commands. */
export interface Services extends Embedders {
  readonly answering: AnswerServices
  readonly documents: { readonly services: DocumentServices; readonly parser: DocumentParser }
  readonly countTokens: CountTokens
  /** Tokens of a passage beyond what retriever or reader reads. */
  readonly unreadTokens: CountTokens
  /** The main collection. */
  readonly index: PassageIndex
  readonly collections: Collections
  readonly jobs: Jobs
  readonly keys: Keys
  /** Counts of the keys' questions; absent: not counted. */
  readonly quotas?: Pick<Quotas, 'used'>
  /** Why the newest table is not searched here; undefined if it is. */
  readonly newerTable: () => CodedError | undefined
  readonly readiness: () => Promise<readonly ReadinessCheck[]>
  readonly processes: () => readonly ProcessStatus[]
  /** Finishes accepted work for up to `drainMs` (default 30 s), rejects the rest, and ends every process. */
  close(options?: { readonly drainMs?: number }): Promise<void>
}

/**
 * The composition root of the service: constructs and joins processes, the index and the pipeline.
 * @example
 * ```ts
 * import { loadConfig } from './src/config.ts'
 * import { answerQuestion } from './src/rag/answer.ts'
 * import { createServices } from './src/service/services.ts'
 *
 * const services = await createServices(loadConfig())
 * const { answer, evidence } = await answerQuestion({ question: 'who composed aida' }, services.answering)
 * await services.close()
 * ```
 */
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
    // Quick checks come before the processes, whose models may take minutes to load.
    const demonstrations = config.DEMONSTRATIONS === '' ? [] : await loadDemonstrations(config.DEMONSTRATIONS)
    const { keys, quotas } = await openKeysAndQuotas(config, disposer, log)
    const folders = await configuredRetrievers(config)
    const replicaCache = await replicaCacheOf(config, folders, log)
    disposer.add(() => replicaCache?.close())
    const answers = config.ROLE !== 'indexer'
    const defaults = answers ? await answerDefaults(config, log) : {}
    const embedders = await startEmbedders(folders, config, disposer, log)
    const collections = await openTables(config, folders, { log, embedOf: (model) => bulkEmbed(embedderOf(embedders, model)) })
    const { main: index } = collections
    disposer.add(() => collections.close())
    const reranker = answers ? await openReranker(config, disposer, log) : undefined
    const { reader, concurrency } = answers ? await openReader(config, log) : { reader: await absentReader(), concurrency: 1 }
    disposer.add(() => reader.close({ drainMs: 0 }))
    const total = totalOf([reader, ...eachOf(embedders), ...(reranker ? [reranker] : [])])
    const answering: AnswerServices = {
      reader: answers ? observedReader(reader) : reader,
      reranker,
      retriever: { ...embedders, index, collection: (name) => collections.open(name), method: config.RETRIEVAL },
      admission: quotas.around(createAdmission({ maxWaiting: config.QUEUE, concurrency, disruptions: total('disruptions') })),
      demonstrations,
      ...defaults,
      ...(servedFiles(config) !== undefined && { fileOf: fileLinks(config.BASE_PATH) }),
    }
    const parser = createDocumentParser({ parseMs: config.DOCUMENT_PARSE_MS })
    disposer.add(() => Promise.resolve(parser.close()))
    const ahead = config.ENCODE_AHEAD && answers ? startAheadFollower({ index, reader, log }) : undefined
    ahead?.follow()
    disposer.add(() => ahead?.close())
    const onIndexed = (table: string): void => (table === index.table ? ahead?.follow() : undefined)
    const jobs = config.ROLE === 'replica' ? noJobs : createJobs({ ...jobsOptions(config, collections, embedders, log), onIndexed })
    const counters = await tokenCounters(folders, answers ? reader.manifest.qa_defaults.context_tokens : undefined)
    const asking = { services: answering, finishedRuns: total('finished'), deadlineMs: config.DEADLINE_MS }
    const testQuestion = answers ? startTestQuestion({ ...asking, log }) : undefined
    const parts = { answers, reader, reranker, embedders, collections, jobs, keys, quotas, parser, replicaCache, ahead, testQuestion }
    return {
      answering,
      documents: { services: { reader, admission: answering.admission, ...documentDefaults(config) }, parser },
      ...embedders,
      ...counters,
      index,
      collections,
      jobs,
      keys,
      quotas,
      newerTable: () => index.behind() ?? replicaCache?.status().refused,
      readiness: () => readinessOf(parts),
      processes: () => processesOf(parts),
      close: ({ drainMs = DEFAULT_DRAIN_MS } = {}) => closeParts(parts, drainMs),
    }
  })
}

async function openKeysAndQuotas({ KEYS_DIR: dir }: Config, disposer: Disposer, log?: Log) {
  const keys = await openKeys({ dir, log })
  disposer.add(() => keys.close())
  const quotas = await createQuotas({ dir, keys, log })
  disposer.add(() => quotas.close())
  return { keys, quotas }
}

/** Starts an embedder per retriever; the disposer ends their processes. */
function startEmbedders(folders: Awaited<ReturnType<typeof configuredRetrievers>>, config: Config, disposer: Disposer, log?: Log) {
  return embeddersOf(folders, async ({ dir }) => {
    const embedder = await createEmbedder({ ...processOptions(config, log), modelDir: dir })
    disposer.add(() => embedder.close({ drainMs: 0 }))
    return embedder
  })
}

/** Sums a count over all pools on each call. */
function totalOf(pools: readonly Supervised[]) {
  return (count: 'finished' | 'disruptions') => () => pools.reduce((sum, pool) => sum + pool.status()[count], 0)
}

/** Parts of a service to supervise and to close. */
interface Parts {
  /** False for the absent reader of an indexer. */
  readonly answers: boolean
  readonly reader: Supervised
  readonly reranker: Supervised | undefined
  readonly embedders: Required<Embedders<Embedder & Supervised>>
  readonly collections: Collections
  readonly jobs: Jobs
  readonly keys: Keys
  readonly quotas: Quotas
  readonly parser: DocumentParser
  readonly replicaCache: ReplicaCache | undefined
  readonly ahead: AheadFollower | undefined
  readonly testQuestion: TestQuestion | undefined
}

async function readinessOf(parts: Parts): Promise<readonly ReadinessCheck[]> {
  const { answers, reader, reranker, embedders, collections, keys, testQuestion, replicaCache } = parts
  const checks = await Promise.all([
    ...(answers ? [processCheck('reader', reader)] : []),
    ...(reranker ? [processCheck('reranker', reranker)] : []),
    embedderChecks(collections.main, embedders),
    indexCheck(collections.main),
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
  const { reader, reranker, embedders, collections, jobs, keys, quotas, ahead } = parts
  parts.testQuestion?.close()
  parts.replicaCache?.close()
  parts.parser.close()
  // A running job stops after its batch, or with its embedder.
  const stopped = Promise.all([jobs.close(), ahead?.close()])
  await Promise.race([stopped, delay(drainMs, undefined, { ref: false })])
  await Promise.all([reader, ...(reranker ? [reranker] : []), ...eachOf(embedders)].map((one) => one.close({ drainMs })))
  await Promise.all([stopped, quotas.close()])
  keys.close()
  collections.close()
}
