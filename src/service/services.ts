import { setTimeout as delay } from 'node:timers/promises'
import { CodedError } from '../../base/errors.ts'
import type { Collections } from '../../index/collections/contract.ts'
import type { PassageIndex } from '../../index/open.ts'
import { loadCepeManifest } from '../../models/folder.ts'
import { modelId } from '../../models/manifest.ts'
import { calibrationFiles } from '../config.ts'
import type { DocumentParser } from '../documents/contract.ts'
import { createDocumentParser } from '../documents/parser.ts'
import type { ProcessStatus } from '../http/observability/metrics.ts'
import type { ReadinessCheck } from '../http/routes/health.ts'
import type { CountTokens } from '../http/routes/openai/routes.ts'
import type { Embedders } from '../inference/contract.ts'
import type { Log } from '../inference/log.ts'
import { observedReader } from '../inference/observed-reader.ts'
import { createAdmission } from '../inference/pool/admission.ts'
import { absentReader } from '../inference/pool/models/absent-reader.ts'
import type { Supervised } from '../inference/pool/models/process-options.ts'
import { startAheadFollower, type AheadFollower } from '../jobs/ahead/encode-ahead.ts'
import type { Jobs } from '../jobs/contract.ts'
import { noJobs } from '../jobs/jobs.ts'
import { openKeys, type Keys } from '../keys/keys.ts'
import { createQuotas, type Quotas } from '../keys/quota.ts'
import { chooseCalibration } from '../rag/calibration/calibration.ts'
import { loadDemonstrations } from '../rag/demonstrations.ts'
import type { DocumentServices } from '../rag/document.ts'
import type { AnswerServices } from '../rag/pipeline.ts'
import { startTestQuestion } from '../rag/test-question.ts'
import type { Config } from '../settings.ts'
import { embedderChecks, indexCheck, keysCheck, processCheck, processStatus, storeCheck } from './health.ts'
import { openIndexing } from './indexing.ts'
import {
  chatTemplates,
  configuredRetrievers,
  documentDefaults,
  eachOf,
  openReader,
  openReranker,
  startEmbedder,
  tokenCounters,
} from './models.ts'
import { withParts } from './parts.ts'
import { fileLinks, makeFolders, reachStore, replicaCacheOf, servedFiles } from './storage.ts'

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
 * The composition root of the service: opens and joins its parts from the ground up, as its role (CEPE_ROLE) has them.
 * @example
 * ```ts
 * import { loadConfig } from './src/config.ts'
 * import { answerQuestion } from './src/rag/answer.ts'
 * import { openService } from './src/service/services.ts'
 *
 * const services = await openService(loadConfig())
 * const { answer, evidence } = await answerQuestion({ question: 'who composed aida' }, services.answering)
 * await services.close()
 * ```
 */
export async function openService(config: Config, log?: Log): Promise<Services> {
  try {
    return await openParts(config, log)
  } catch (error) {
    if (!(config.CPU_FALLBACK && config.PROVIDER === 'cuda' && error instanceof CodedError && error.code === 'provider_unavailable'))
      throw error
    log?.('warn', `${error.message} Running on the CPU, as CEPE_CPU_FALLBACK allows.`)
    return openParts({ ...config, PROVIDER: 'cpu' }, log)
  }
}

function openParts(config: Config, log: Log | undefined): Promise<Services> {
  const { ROLE: role, KEYS_DIR: dir } = config
  return withParts(async (parts) => {
    await (role === 'replica' ? reachStore(config, log) : makeFolders(config))
    // What fails in a moment comes before the processes, whose models may take minutes to load.
    const demonstrations = config.DEMONSTRATIONS === '' ? [] : await loadDemonstrations(config.DEMONSTRATIONS)
    const keys = parts.add(await openKeys({ dir, log }))
    const quotas = parts.add(await createQuotas({ dir, keys, log }))
    const retrievers = await configuredRetrievers(config)
    const replica = parts.add(await replicaCacheOf(config, retrievers, log))
    const answers = role !== 'indexer'
    const protocol = answers && { calibration: await calibrationOf(config, log), ...(await chatTemplates(config, log)) }

    // Indexing. A job may end before the follower of its table is started.
    let ahead: AheadFollower | undefined
    const { index, collections, jobs, embedders } = await openIndexing(config, parts, {
      retrievers,
      embedderIn: ({ dir }) => startEmbedder(dir, config, log),
      ...(role === 'replica' && { jobsOf: () => noJobs }),
      onIndexed: (table) => (table === index.table ? ahead?.follow() : undefined),
      log,
    })

    // Answering. An indexer has an absent reader, no follower and no test question.
    const reranker = answers ? parts.add(await openReranker(config, log)) : undefined
    const { reader, concurrency } = answers ? await openReader(config, log) : { reader: await absentReader(), concurrency: 1 }
    const pools: { readonly role: string; readonly processes: readonly Supervised[] }[] = [
      { role: 'reader', processes: answers ? [parts.add(reader)] : [] },
      { role: 'reranker', processes: reranker ? [reranker] : [] },
      { role: 'embedder', processes: eachOf(embedders) },
    ]
    const processes = pools.flatMap((pool) => pool.processes)
    const total = (count: 'finished' | 'disruptions') => () => processes.reduce((sum, one) => sum + one.status()[count], 0)
    const answering: AnswerServices = {
      reader: answers ? observedReader(reader) : reader,
      reranker,
      retriever: { ...embedders, index, collection: (name) => collections.open(name), method: config.RETRIEVAL },
      admission: quotas.around(createAdmission({ maxWaiting: config.QUEUE, concurrency, disruptions: total('disruptions') })),
      demonstrations,
      minConfidence: config.MIN_CONFIDENCE,
      ...protocol,
      ...(servedFiles(config) !== undefined && { fileOf: fileLinks(config.BASE_PATH) }),
    }
    const parser = parts.add(createDocumentParser({ parseMs: config.DOCUMENT_PARSE_MS }))
    const counters = await tokenCounters(retrievers, answers ? reader.manifest.qa_defaults.context_tokens : undefined)
    if (config.ENCODE_AHEAD && answers) ahead = startAheadFollower({ index, reader, log })
    ahead?.follow()
    parts.add({
      // A running job stops after its batch, or with its embedder.
      close: async ({ drainMs }) => {
        const stopped = Promise.all([jobs.close(), ahead?.close()])
        await Promise.race([stopped, delay(drainMs, undefined, { ref: false })])
        await Promise.all([stopped, ...processes.map((one) => one.close({ drainMs }))])
      },
    })
    const asking = { services: answering, finishedRuns: total('finished'), deadlineMs: config.DEADLINE_MS, log }
    const test = answers ? parts.add(startTestQuestion(asking)) : undefined
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
      newerTable: () => index.behind() ?? replica?.status().refused,
      readiness: async () => {
        const others = pools.filter((pool) => pool.role !== 'embedder')
        const checks = await Promise.all([
          ...others.flatMap((pool) => pool.processes.map((one) => processCheck(pool.role, one))),
          embedderChecks(index, embedders),
          indexCheck(index),
          test?.check() ?? [],
          replica ? storeCheck(replica) : [],
          keysCheck(keys),
        ])
        return checks.flat()
      },
      processes: () =>
        pools.flatMap((pool) =>
          pool.processes.length === 0 ? [] : processStatus(pool.role, ...pool.processes.map((one) => one.status())),
        ),
      close: (options) => parts.close(options),
    }
  })
}

/** The calibration of the loaded reader. */
async function calibrationOf(config: Config, log: Log | undefined) {
  return chooseCalibration(calibrationFiles(config), modelId(await loadCepeManifest(config.READER_DIR)), log)
}
