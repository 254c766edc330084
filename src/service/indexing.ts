import { CodedError } from '../../base/errors.ts'
import type { Collections } from '../../index/collections/contract.ts'
import type { PassageIndex } from '../../index/open.ts'
import { documentBounds, packageVersion } from '../config.ts'
import { embedderOf, type Embedder, type Embedders } from '../inference/contract.ts'
import type { Log } from '../inference/log.ts'
import { createReader } from '../inference/pool/models/create-reader.ts'
import { bulkEmbed } from '../inference/bulk-embed.ts'
import { createJobs, type Jobs } from '../jobs/jobs.ts'
import type { CrawlSettings } from '../jobs/sources/fetch-pages.ts'
import type { Config } from '../settings.ts'
import {
  configuredRetrievers,
  embedderOnDemand,
  embeddersOf,
  readerOptions,
  type RetrieverFolder,
  type RetrieverFolders,
} from './models.ts'
import { withParts, type Part, type Parts } from './parts.ts'
import { jobsDir, makeFolders, openPassages, openTables } from './storage.ts'

/** The index and its jobs without the reader. */
export interface Indexing<One extends Embedder = Embedder> {
  readonly index: PassageIndex
  readonly collections: Collections
  readonly jobs: Jobs
  readonly embedders: Required<Embedders<One>>
}

interface OpenIndexingOptions<One> {
  readonly retrievers: RetrieverFolders
  readonly embedderIn: (folder: RetrieverFolder) => One | Promise<One>
  readonly jobsOf?: typeof createJobs
  readonly onIndexed?: (table: string) => void
  readonly log: Log | undefined
}

/** Opens what the service and the commands have in common: embedders, tables and jobs. */
export async function openIndexing<One extends Embedder & Part>(
  config: Config,
  parts: Parts,
  { retrievers, embedderIn, jobsOf = createJobs, onIndexed, log }: OpenIndexingOptions<One>,
): Promise<Indexing<One>> {
  const embedders = await embeddersOf(retrievers, async (folder) => parts.add(await embedderIn(folder)))
  const embedOf = (model: Parameters<typeof embedderOf>[1]) => bulkEmbed(embedderOf(embedders, model))
  const collections = parts.add(await openTables(config, retrievers, { log, embedOf }))
  const jobs = jobsOf({
    index: collections.main,
    indexOf: (table) => collections.later(table),
    tables: () => collections.names(),
    ...embedders,
    jobsDir: jobsDir(config),
    importDir: config.IMPORT_DIR,
    fileBounds: documentBounds(config),
    maxUploadBytes: config.UPLOAD_LIMIT_MB * 2 ** 20,
    crawl: crawlSettings(config),
    keepBytes: config.KEEP_UPLOADS_MB * 2 ** 20,
    policy: { exactBelow: config.EXACT_BELOW, minRecall: config.MIN_RECALL, keepMs: config.KEEP_VERSIONS_MIN * 60_000 },
    ...(onIndexed && { onIndexed }),
    log,
  })
  return { index: collections.main, collections, jobs: parts.add(jobs), embedders }
}

/** Opens the index and its jobs, for the command line and the first start. An embedder starts when it is first used. */
export function openCommand(config: Config, log?: Log): Promise<Indexing & { readonly close: () => Promise<void> }> {
  return withParts(async (parts) => {
    await makeFolders(config)
    const retrievers = await configuredRetrievers(config)
    const embedderIn = (folder: RetrieverFolder) => embedderOnDemand(folder, config, log)
    return { ...(await openIndexing(config, parts, { retrievers, embedderIn, log })), close: () => parts.close() }
  })
}

/** Opens the index and a reader that stores states, for the command line. */
export function openAheadEncoding(config: Config, log?: Log) {
  return withParts(async (parts) => {
    const opening = { log, embedOf: () => undefined }
    const index = parts.add(await openPassages(config, await configuredRetrievers(config), opening))
    await index.info()
    const reader = parts.add(await createReader(readerOptions(config, log)))
    return { index, reader, close: () => parts.close({ drainMs: 0 }) }
  })
}

/** @throws config_invalid if no disk is configured for encoder states */
export function requireStateDisk({ STATE_DISK_MB }: Config): void {
  if (STATE_DISK_MB > 0) return
  throw new CodedError('config_invalid', 'Set CEPE_STATE_DISK_MB to the disk that encoder states may take.', {
    field: 'CEPE_STATE_DISK_MB',
  })
}

/** Settings of the crawler. */
export function crawlSettings({ FETCH_DELAY_MS: delayMs, UPLOAD_LIMIT_MB: megabytes }: Config): CrawlSettings {
  return { userAgent: `cepe-qa/${packageVersion()}`, limits: { delayMs, totalBytes: megabytes * 2 ** 20 } }
}
