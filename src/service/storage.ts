/** Folders and tables of a service. They are checked before anything is opened. */
import { access, constants, rm } from 'node:fs/promises'
import path from 'node:path'
import { CodedError, invalidConfig, messageOf, reasonOf } from '../../base/errors.ts'
import { makeFolder, openPrivate } from '../../base/durable.ts'
import { openScratch } from '../../base/locks/scratch.ts'
import { IndexCollections } from '../../index/collections/collections.ts'
import type { Collections } from '../../index/collections/contract.ts'
import type { EmbedOf, Models, Passage, TableLocation } from '../../index/contract.ts'
import { openIndex, type PassageIndex } from '../../index/open.ts'
import { startReplicaCache, type ReplicaCache } from '../../index/replica/replica-cache.ts'
import { storeOf } from '../../index/store/store-of.ts'
import { readAlias } from '../../index/versions/alias.ts'
import { tryJobLock } from '../../index/writers/locks.ts'
import { calibrationFiles, setTemporaryFolder } from '../config.ts'
import { bulkEmbed } from '../inference/bulk-embed.ts'
import { embedderOf, type Embedders } from '../inference/contract.ts'
import type { Log } from '../inference/log.ts'
import { KeptFiles } from '../jobs/kept/kept-files.ts'
import { isFinal } from '../jobs/record/schema.ts'
import { whileHeld } from '../../base/locks/lock.ts'
import { JobStore } from '../jobs/record/store.ts'
import { type fileCheck, type ServedFiles, isSourceFile } from '../jobs/kept/served-file.ts'
import { chooseCalibration } from '../rag/calibration.ts'
import { loadDemonstrations } from '../rag/demonstrations.ts'
import type { Config } from '../settings.ts'

/** Folder of jobs: configured, else next to the index. */
export function jobsDir(config: Config): string {
  return config.JOBS_DIR ?? path.join(config.INDEX_DIR, 'jobs')
}

/** Where files of passages may be taken from; undefined where none are given out. */
export function servedFiles(config: Config): ServedFiles | undefined {
  const keepsUploads = config.KEEP_UPLOADS_MB > 0
  const isOn = config.SERVE_FILES && (config.IMPORT_DIR !== undefined || keepsUploads) && storeOf(jobsDir(config)).keepsFiles
  return isOn ? { importDir: config.IMPORT_DIR, jobsDir: jobsDir(config), keepsUploads } : undefined
}

/** Folder of encoder states. */
export function statesDir(config: Config): string {
  return config.STATE_DIR ?? path.join(config.INDEX_DIR, 'states')
}

/**
 * Creates the folders for index and jobs, and checks write access to an object store.
 * @throws config_invalid naming the setting of a folder that cannot be created or written to; store_unavailable
 */
export async function makeFolders(config: Config): Promise<void> {
  await storeOf(config.INDEX_DIR).check(config.INDEX_DIR, { writes: true })
  const folders = { CEPE_INDEX_DIR: config.INDEX_DIR, CEPE_JOBS_DIR: jobsDir(config) }
  for (const [setting, folder] of Object.entries(folders)) if (storeOf(folder).keepsFiles) await makeWritable(setting, folder)
}

/** The settings of a command that only reads: those of a replica, where there is an index that cannot be written to. @throws as makeFolders */
export async function forReading<Of extends Config>(config: Of): Promise<Of> {
  if (config.ROLE === 'replica') return config
  return makeFolders(config).then(
    () => config,
    async (error: unknown) => {
      if (!(await hasTables(config.INDEX_DIR).catch(() => false))) throw error
      return { ...config, ROLE: 'replica' as const, MIRROR_DIR: undefined }
    },
  )
}

/** Moves temporary files of this process to a folder removed at its exit. Call before an index is opened. */
export async function useScratch(): Promise<void> {
  const folder = await openScratch()
  if (folder !== undefined) setTemporaryFolder(folder)
}

async function makeWritable(setting: string, folder: string): Promise<void> {
  await makeFolder(folder).catch(refuse(setting, `The folder ${folder} cannot be made`))
  await access(folder, constants.W_OK).catch(refuse(setting, `The folder ${folder} cannot be written to`))
}

/** Validates configured folders and files before a model is built or loaded. @throws config_invalid naming the setting */
export async function checkPaths(config: Config): Promise<void> {
  if (config.ROLE !== 'replica') {
    await makeFolders(config)
    if (config.CORPUS !== '' && !(await hasTables(config.INDEX_DIR)))
      await access(config.CORPUS, constants.R_OK).catch(refuse('CEPE_CORPUS', `The corpus ${config.CORPUS} cannot be read`))
  }
  if (config.FEEDBACK !== undefined)
    await openPrivate(config.FEEDBACK).then((log) => log.close(), refuse('CEPE_FEEDBACK', 'The file of feedback cannot be written to'))
  if (config.ROLE === 'replica' && config.MIRROR_DIR !== undefined) await makeWritable('CEPE_MIRROR_DIR', config.MIRROR_DIR)
  if (config.ROLE === 'indexer') return
  if (config.STATE_DISK_MB > 0) await makeWritable('CEPE_STATE_DIR', statesDir(config))
  if (config.DEMONSTRATIONS !== '') await loadDemonstrations(config.DEMONSTRATIONS)
  const { named } = calibrationFiles(config)
  // Whether it matches the reader is checked once the reader is loaded.
  if (named !== undefined) await chooseCalibration(calibrationFiles(config), { reader: '' })
}

/** With an existing table, the corpus may be gone. */
async function hasTables(indexDir: string): Promise<boolean> {
  return (await storeOf(indexDir).files.list(indexDir)).some((name) => name.endsWith('.lance'))
}

function refuse(setting: string, problem: string): (cause: unknown) => never {
  return (cause) => {
    throw invalidConfig(setting, `${problem} (${reasonOf(cause)}): set ${setting} to another.`, cause)
  }
}

/** Opens the main collection; a replica with a copy reads that. @param embedOf embeds questions to measure the recall with */
export async function openPassages(
  config: Config,
  { model, furtherModels = [] }: Models,
  { embedOf, log }: { readonly embedOf?: EmbedOf; readonly log: Log | undefined },
): Promise<PassageIndex> {
  await useScratch()
  return openIndex({
    dir: config.ROLE === 'replica' ? (config.MIRROR_DIR ?? config.INDEX_DIR) : config.INDEX_DIR,
    table: config.TABLE,
    model,
    furtherModels,
    embedOf,
    ...openedAs(config, log),
  })
}

/** Opens the main collection, and prepares the others, which are opened by name. Completes removals that an earlier process began. */
export async function openTables(config: Config, models: Models, embedders: Embedders, log: Log | undefined): Promise<Collections> {
  const embedOf: EmbedOf = (model) => bulkEmbed(embedderOf(embedders, model))
  const collections = new IndexCollections({
    main: await openPassages(config, models, { embedOf, log }),
    dir: config.INDEX_DIR,
    mostOpen: config.MAX_OPEN_COLLECTIONS,
    embedOf,
    belongings: belongings(config),
    ...openedAs(config, log),
  })
  if (config.ROLE !== 'replica')
    await collections.finishRemovals().catch((error: unknown) => log?.('warn', `A collection is not quite removed: ${messageOf(error)}`))
  return collections
}

function openedAs(config: Config, log: Log | undefined) {
  return {
    readOnly: config.ROLE === 'replica',
    keepMs: config.KEEP_VERSIONS_MIN * 60_000,
    onWarning: (message: string) => (log ? log('warn', message) : process.emitWarning(message)),
  }
}

/** Folder of a collection's idempotent responses: with the index, or, if that is in an object store, with its jobs. */
export function answersFolder({ JOBS_DIR, KEYS_DIR }: Config, { dir, table }: TableLocation): string {
  return path.join(storeOf(dir).keepsFiles ? dir : (JOBS_DIR ?? KEYS_DIR), `${table}.answers`)
}

/** What is kept by a collection's name: its jobs are detached, its calibration, kept uploads and idempotent responses deleted. */
function belongings(config: Config) {
  const jobs = new JobStore(jobsDir(config))
  return {
    unfinishedJobs: async (name: string) =>
      (await jobs.list()).flatMap(({ id, table, state }) => (table === name && !isFinal(state) ? [id] : [])),
    release: async (name: string) => {
      await jobs.detach(name)
      const kept = new KeptFiles(jobs.dir)
      await kept.forgetMissing(name)
      const { own: calibration } = calibrationFiles({ ...config, TABLE: name })
      if (calibration !== undefined) await rm(calibration, { force: true })
      await rm(answersFolder(config, { dir: config.INDEX_DIR, table: name }), { recursive: true, force: true })
      // A job that runs may keep a file of the same content: then the job runner removes the contents later.
      await whileHeld(tryJobLock(config.INDEX_DIR), () => kept.fit(Infinity))
    },
  }
}

/** Checks that a replica can read its object store. With a copy it starts without it, too. @throws config_invalid, store_unavailable */
export async function reachStore(config: Config, log: Log | undefined): Promise<void> {
  await storeOf(config.INDEX_DIR)
    .check(config.INDEX_DIR, { writes: false })
    .catch(async (error: unknown) => {
      const copied = config.MIRROR_DIR !== undefined && (await readAlias({ dir: config.MIRROR_DIR, table: config.TABLE })) !== undefined
      if (!copied || !(error instanceof CodedError) || error.code !== 'store_unavailable') throw error
      log?.('warn', `${error.message} Serving from the replica cache.`)
    })
}

/** A replica's copy of the table, up to date if the store is reachable. */
export async function replicaCacheOf(config: Config, models: Models, log: Log | undefined): Promise<ReplicaCache | undefined> {
  if (config.ROLE !== 'replica' || config.MIRROR_DIR === undefined) return undefined
  return startReplicaCache({
    from: config.INDEX_DIR,
    to: config.MIRROR_DIR,
    table: config.TABLE,
    models,
    maxBytes: config.MIRROR_MB * 2 ** 20,
    onWarning: log && ((message: string) => log('warn', message)),
  })
}

/** Returns paths of passages' files that can be opened, with the page of a PDF. `isBound`: for a key of certain collections. */
export function passageLinks({ BASE_PATH, TABLE }: Pick<Config, 'BASE_PATH' | 'TABLE'>, isThere: ReturnType<typeof fileCheck>) {
  return async ({ id, source, metadata }: Omit<Passage, 'title' | 'text'>, collection?: string, isBound = false) => {
    if (source === undefined || !isSourceFile(source)) return undefined
    if (!(await isThere({ id, source, table: collection ?? TABLE, isBound }))) return undefined
    const named = collection === undefined ? '' : `?collection=${collection}`
    const page = typeof metadata?.page === 'number' ? `#page=${metadata.page}` : ''
    return `${BASE_PATH}/v1/passages/${encodeURIComponent(id)}/file${named}${page}`
  }
}
