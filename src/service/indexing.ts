import { invalidConfig } from '../../base/errors.ts'
import type { Collections } from '../../index/collections/contract.ts'
import { documentBounds } from '../config.ts'
import { packageVersion } from '../package.ts'
import type { Embedders } from '../inference/contract.ts'
import type { Log } from '../inference/log.ts'
import { createReader } from '../inference/pool/models/create-reader.ts'
import { createJobs } from '../jobs/jobs.ts'
import type { CrawlSettings } from '../jobs/sources/fetch-pages.ts'
import type { Config } from '../settings.ts'
import { configuredRetrievers, embedderOnDemand, embeddersOf, readerOptions } from './models.ts'
import { withParts } from './parts.ts'
import { jobsDir, makeFolders, openPassages, openTables, reachStore } from './storage.ts'

/** The index and its jobs, for the command line. */
export type Indexing = Awaited<ReturnType<typeof openCommand>>

/** Opens the index and its jobs, for the command line and the first start. An embedder starts when it is first used. */
export function openCommand(config: Config, log?: Log) {
  return withParts(async (parts) => {
    await (config.ROLE === 'replica' ? reachStore(config, log) : makeFolders(config))
    const retrievers = await configuredRetrievers(config)
    const embedders = await embeddersOf(retrievers, (folder) => parts.add(embedderOnDemand(folder, config, log)))
    const collections = parts.add(await openTables(config, retrievers, embedders, log))
    const jobs = parts.add(createJobs(jobParts(config, collections, embedders, log)))
    return { index: collections.main, collections, jobs, readOnly: config.ROLE === 'replica', close: () => parts.close() }
  })
}

/** What jobs need, by the settings. */
export function jobParts(config: Config, collections: Collections, embedders: Embedders, log: Log | undefined) {
  return {
    index: collections.main,
    indexOf: (table: string) => collections.later(table),
    tables: () => collections.names(),
    ...embedders,
    jobsDir: jobsDir(config),
    importDir: config.IMPORT_DIR,
    fileBounds: documentBounds(config),
    maxUploadBytes: config.UPLOAD_LIMIT_MB * 2 ** 20,
    crawl: crawlSettings(config),
    keepBytes: config.KEEP_UPLOADS_MB * 2 ** 20,
    policy: { exactBelow: config.EXACT_BELOW, minRecall: config.MIN_RECALL, keepMs: config.KEEP_VERSIONS_MIN * 60_000 },
    log,
  }
}

/** Opens the index and a reader that stores states, for the command line. */
export function openAheadEncoding(config: Config, log?: Log) {
  return withParts(async (parts) => {
    const index = parts.add(await openPassages(config, await configuredRetrievers(config), { log }))
    await index.info()
    const reader = parts.add(await createReader(readerOptions(config, log)))
    return { index, reader, close: () => parts.close({ drainMs: 0 }) }
  })
}

/** @throws config_invalid if no disk is configured for encoder states */
export function requireStateDisk({ STATE_DISK_MB }: Config): void {
  if (STATE_DISK_MB > 0) return
  throw invalidConfig('CEPE_STATE_DISK_MB', 'Set CEPE_STATE_DISK_MB to the disk that encoder states may take.')
}

export function crawlSettings({ FETCH_DELAY_MS: delayMs, UPLOAD_LIMIT_MB: megabytes }: Config): CrawlSettings {
  return { userAgent: `cepe-qa/${packageVersion()}`, limits: { delayMs, totalBytes: megabytes * 2 ** 20 } }
}
