import { CodedError } from '../../base/errors.ts'
import { documentBounds } from '../config.ts'
import { createDocumentParser } from '../documents/parser.ts'
import type { AppServices } from '../http/routes/context.ts'
import type { Log } from '../inference/log.ts'
import { observedReader } from '../inference/observed-reader.ts'
import { createAdmission } from '../inference/pool/admission.ts'
import { absentReader } from '../inference/pool/models/create-reader.ts'
import { type AheadFollower, startAheadFollower } from '../inference/encode-ahead.ts'
import { noJobs } from '../jobs/jobs.ts'
import { openKeys } from '../keys/keys.ts'
import { createQuotas } from '../keys/quota.ts'
import type { AnswerServices } from '../rag/pipeline.ts'
import { startTestQuestion } from '../rag/test-question.ts'
import type { Config } from '../settings.ts'
import { poolsOf, readinessOf } from './health.ts'
import { openIndexing } from './indexing.ts'
import {
  answerDefaults,
  configuredRetrievers,
  documentDefaults,
  eachOf,
  embeddersOf,
  openReader,
  openReranker,
  startEmbedder,
  tokenCounters,
} from './models.ts'
import { type Parts, withParts } from './parts.ts'
import { availableLinks, makeFolders, reachStore, replicaCacheOf, servedFiles } from './storage.ts'

/** Dependencies of the HTTP application and the commands. */
export interface Services extends AppServices {
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
  return withParts(async (parts) => {
    await (config.ROLE === 'replica' ? reachStore(config, log) : makeFolders(config))
    const keys = parts.add(await openKeys({ dir: config.KEYS_DIR, log }))
    const quotas = parts.add(await createQuotas({ dir: config.KEYS_DIR, keys, log }))
    const retrievers = await configuredRetrievers(config)
    const replica = parts.add(await replicaCacheOf(config, retrievers, log))
    const answers = config.ROLE !== 'indexer'
    // What fails in a moment comes before the processes, whose models may take minutes to load.
    const defaults = answers ? await answerDefaults(config, log) : { demonstrations: [] }

    // A job may end before the follower of its table is started.
    let ahead: AheadFollower | undefined
    const embedders = await embeddersOf(retrievers, async ({ dir }) => parts.add(await startEmbedder(dir, config, log)))
    const { index, collections, jobs } = await openIndexing(config, parts, {
      retrievers,
      embedders,
      ...(config.ROLE === 'replica' && { jobsOf: () => noJobs }),
      onIndexed: (table) => (table === index.table ? ahead?.follow() : undefined),
      log,
    })
    const { reader, reranker, concurrency, contextTokens } = await openReaders(config, parts, log)
    const pools = poolsOf({ reader: answers ? [reader] : [], reranker: reranker ? [reranker] : [], embedder: eachOf(embedders) })
    const admission = createAdmission({ maxWaiting: config.QUEUE, concurrency, disruptions: pools.total('disruptions') })
    const files = servedFiles(config)
    const answering: AnswerServices = {
      reader: answers ? observedReader(reader) : reader,
      reranker,
      retriever: { ...embedders, index, collection: (name) => collections.open(name), method: config.RETRIEVAL },
      admission: quotas.around(admission),
      ...defaults,
      ...(files !== undefined && { fileOf: availableLinks(config, files) }),
    }
    const parser = parts.add(createDocumentParser(documentBounds(config)))
    const counters = await tokenCounters(retrievers, contextTokens)
    if (config.ENCODE_AHEAD && answers) ahead = startAheadFollower({ index, reader, log })
    ahead?.follow()
    parts.add(pools.with(() => Promise.all([jobs.close(), ahead?.close()])))
    const asking = { services: answering, finishedRuns: pools.total('finished'), deadlineMs: config.DEADLINE_MS, log }
    const test = answers ? parts.add(startTestQuestion(asking)) : undefined
    return {
      answering,
      documents: { services: { reader, admission: answering.admission, ...documentDefaults(config) }, parser },
      ...embedders,
      ...counters,
      ...{ index, collections, jobs, keys, quotas },
      newerTable: () => index.behind() ?? replica?.status().refused,
      readiness: () => readinessOf({ reader: answers ? reader : undefined, reranker, embedders, index, test, replica, keys }),
      processes: () => pools.status(),
      close: (options) => parts.close(options),
    }
  })
}

/** Opens the models that answer. An indexer has an absent reader. */
async function openReaders(config: Config, parts: Parts, log: Log | undefined) {
  if (config.ROLE === 'indexer') return { reader: await absentReader(), reranker: undefined, concurrency: 1 }
  const reranker = parts.add(await openReranker(config, log))
  const { reader, concurrency } = await openReader(config, log)
  return { reader: parts.add(reader), reranker, concurrency, contextTokens: reader.manifest.qa_defaults.context_tokens }
}
