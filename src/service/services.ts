import { CodedError } from '../../base/errors.ts'
import { documentBounds } from '../config.ts'
import { createDocumentParser } from '../documents/parser.ts'
import type { AppServices } from '../http/routes/context.ts'
import type { Log } from '../inference/log.ts'
import { observedReader } from '../inference/observed-reader.ts'
import { createAdmission } from '../inference/pool/admission.ts'
import { absentReader } from '../inference/pool/models/create-reader.ts'
import { startAheadFollower } from '../inference/encode-ahead.ts'
import { createJobs, noJobs } from '../jobs/jobs.ts'
import { fileCheck } from '../jobs/kept/served-file.ts'
import { openKeys } from '../keys/keys.ts'
import { createQuotas } from '../keys/quota.ts'
import type { AnswerServices } from '../rag/pipeline.ts'
import { startTestQuestion } from '../rag/test-question.ts'
import type { Config } from '../settings.ts'
import { poolsOf, readinessOf } from './health.ts'
import { jobParts } from './indexing.ts'
import { answerDefaults, configuredRetrievers, documentDefaults, embeddersOf, openReaders, startEmbedder, tokenCounters } from './models.ts'
import { withParts } from './parts.ts'
import { makeFolders, openTables, passageLinks, reachStore, replicaCacheOf, servedFiles } from './storage.ts'

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
    const { ROLE: role } = config
    await (role === 'replica' ? reachStore(config, log) : makeFolders(config))
    const keys = parts.add(await openKeys({ dir: config.KEYS_DIR, log }))
    const quotas = parts.add(await createQuotas({ dir: config.KEYS_DIR, keys, log }))
    const retrievers = await configuredRetrievers(config)
    const replica = parts.add(await replicaCacheOf(config, retrievers, log))
    // What fails in a moment comes before the processes, whose models may take minutes to load.
    const defaults = role === 'indexer' ? { demonstrations: [] } : await answerDefaults(config, log)
    const embedders = await embeddersOf(retrievers, async ({ dir }) => parts.add(await startEmbedder(dir, config, log)))
    const collections = parts.add(await openTables(config, retrievers, embedders, log))
    const { main: index } = collections
    // An indexer answers no questions.
    const readers = role === 'indexer' ? undefined : await openReaders(config, parts, log)
    const reader = readers ? observedReader(readers.reader) : absentReader()
    const pools = poolsOf({
      reader: [readers?.reader],
      reranker: [readers?.reranker],
      embedder: [embedders.embedder, ...embedders.further.values()],
    })
    const { concurrency = 1, contextTokens } = readers ?? {}
    const admission = createAdmission({ maxWaiting: config.QUEUE, concurrency, disruptions: pools.total('disruptions') })
    const files = servedFiles(config)
    const answering: AnswerServices = {
      reader,
      reranker: readers?.reranker,
      retriever: { ...embedders, index, collection: (name) => collections.open(name), method: config.RETRIEVAL },
      admission: quotas.around(admission),
      ...defaults,
      ...(files !== undefined && { fileOf: passageLinks(config, fileCheck(files)) }),
    }
    const parser = parts.add(createDocumentParser(documentBounds(config)))
    const counters = await tokenCounters(retrievers, contextTokens)
    const ahead = config.ENCODE_AHEAD && readers ? startAheadFollower({ index, reader: readers.reader, log }) : undefined
    ahead?.follow()
    const onIndexed = (table: string): void => (table === index.table ? ahead?.follow() : undefined)
    const jobs = role === 'replica' ? noJobs : createJobs({ ...jobParts(config, collections, embedders, log), onIndexed })
    parts.add(pools.with(() => Promise.all([jobs.close(), ahead?.close()])))
    const asking = { services: answering, finishedRuns: pools.total('finished'), deadlineMs: config.DEADLINE_MS, log }
    const test = readers && parts.add(startTestQuestion(asking))
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
      readiness: () => readinessOf({ ...readers, embedders, index, test, replica, keys }),
      processes: () => pools.status(),
      close: (options) => parts.close(options),
    }
  })
}
