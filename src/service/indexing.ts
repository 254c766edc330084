import { CodedError } from '../../base/errors.ts'
import type { Collections } from '../../index/collections/contract.ts'
import type { Embed, EmbeddingModel } from '../../index/contract.ts'
import type { PassageIndex } from '../../index/open.ts'
import { loadContrieverManifest } from '../../models/folder.ts'
import { packageVersion } from '../config.ts'
import { embedderOf, type Embedder, type Embedders } from '../inference/contract.ts'
import type { Log } from '../inference/log.ts'
import { createEmbedder } from '../inference/pool/models/create-embedder.ts'
import { createReader } from '../inference/pool/models/create-reader.ts'
import type { Supervised } from '../inference/pool/models/process-options.ts'
import { bulkEmbed } from '../jobs/bulk-embed.ts'
import type { Jobs, JobsOptions } from '../jobs/contract.ts'
import { createJobs } from '../jobs/jobs.ts'
import type { CrawlSettings } from '../jobs/web/fetch-pages.ts'
import type { Config } from '../settings.ts'
import { withDisposer } from './disposer.ts'
import { openPassages, openTables } from './open-passages.ts'
import { processOptions, readerOptions } from './open-reader.ts'
import { jobsDir, makeFolders } from './paths.ts'
import { configuredRetrievers, eachOf, embeddersOf, embeddingModel, type RetrieverFolder } from './retrievers.ts'

/** @throws config_invalid if no disk is configured for encoder states */
export function requireStateDisk({ STATE_DISK_MB }: Config): void {
  if (STATE_DISK_MB > 0) return
  throw new CodedError('config_invalid', 'Set CEPE_STATE_DISK_MB to the disk that encoder states may take.', {
    field: 'CEPE_STATE_DISK_MB',
  })
}

/** Opens the index and a reader that stores states, for the command line. */
export async function createAheadEncoding(config: Config, log?: Log) {
  return withDisposer(async (disposer) => {
    const index = await openPassages(config, await configuredRetrievers(config), { log, embedOf: () => undefined })
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
  readonly collections: Pick<Collections, 'create'>
  readonly jobs: Jobs
  close(): Promise<void>
}

/** Opens the index and its jobs, for the command line and the first start. The embedder is started on demand. */
export async function createIndexing(config: Config, log?: Log): Promise<Indexing> {
  await makeFolders(config)
  const folders = await configuredRetrievers(config)
  const embedders = await embeddersOf(folders, (folder) => Promise.resolve(embedderOnDemand(folder, config, log)))
  const collections = await openTables(config, folders, { log, embedOf: (model) => bulkEmbed(embedderOf(embedders, model)) })
  const jobs = createJobs(jobsOptions(config, collections, embedders, log))
  return {
    index: collections.main,
    collections,
    jobs,
    close: async () => {
      await jobs.close()
      await Promise.all(eachOf(embedders).map((one) => one.close()))
      collections.close()
    },
  }
}

/** An embedder without an index. */
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

/** The configured embedding model, without starting it. */
export async function configuredModel(config: Config): Promise<EmbeddingModel> {
  return embeddingModel(await loadContrieverManifest(config.RETRIEVER_DIR))
}

function embedderOnDemand({ dir, manifest }: RetrieverFolder, config: Config, log: Log | undefined): Embedder & { close(): Promise<void> } {
  let started: Promise<Embedder & Supervised> | undefined
  const start = (): Promise<Embedder & Supervised> =>
    (started ??= createEmbedder({ ...processOptions(config, log), modelDir: dir }).catch((error: unknown) => {
      // A failure may be fixed by the time it is needed again.
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

/** Settings of the crawler. */
export function crawlSettings({ FETCH_DELAY_MS: delayMs, UPLOAD_LIMIT_MB: megabytes }: Config): CrawlSettings {
  return { userAgent: `cepe-qa/${packageVersion()}`, limits: { delayMs, totalBytes: megabytes * 2 ** 20 } }
}

/** Options of the jobs, from the settings. */
export function jobsOptions(config: Config, collections: Collections, embedders: Embedders, log: Log | undefined): JobsOptions {
  return {
    index: collections.main,
    indexOf: (table) => collections.later(table),
    tables: () => collections.names(),
    ...embedders,
    jobsDir: jobsDir(config),
    importDir: config.IMPORT_DIR,
    fileBounds: { parseMs: config.DOCUMENT_PARSE_MS, maxBytes: config.DOCUMENT_MB * 2 ** 20 },
    maxUploadBytes: config.UPLOAD_LIMIT_MB * 2 ** 20,
    crawl: crawlSettings(config),
    keepBytes: config.KEEP_UPLOADS_MB * 2 ** 20,
    policy: { exactBelow: config.EXACT_BELOW, minRecall: config.MIN_RECALL, keepMs: config.KEEP_VERSIONS_MIN * 60_000 },
    log,
  }
}
