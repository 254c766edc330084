import { CodedError, conflict, explainedBy, invalidRequest, messageOf, unprocessable } from '../../base/errors.ts'
import { failureOf } from '../../base/failures.ts'
import { type EmbedOf, type Models, type TableLocation } from '../contract.ts'
import { openIndex } from '../open.ts'
import type { PassageIndex } from '../passage-index.ts'
import { switchTable } from '../snapshots/replace.ts'
import { eachOf } from '../store/each-of.ts'
import { storeOf, within } from '../store/store-of.ts'
import { connectForWriting, type Connection, connectLance } from '../table/lance.ts'
import { readMetadata } from '../table/metadata.ts'
import { readWordIndex } from '../table/words.ts'
import { checkFolder, checkTableName, namelessTables, readAlias, removalMark, removeAlias, REMOVING } from '../versions/alias.ts'
import { unservable } from '../versions/compatibility.ts'
import { createLiveTable } from '../versions/live-table.ts'
import type { WordLanguage } from '../word-languages.ts'
import { watchingJobs } from '../writers/change-log.ts'
import { withMaintenanceLock, withWriterLock } from '../writers/locks.ts'
import { collectionIndex, type TableCache, tableCache } from './collection-index.ts'
import { type CollectionInfo, type Collections, unknownCollection } from './contract.ts'

/** Suffixes of a table's files other than its alias and locks: stored tables, snapshots, change logs, read pins. */
const FOLDERS = ['lance', 'snapshots', 'changes', 'readings']
/** Maximum wait for a running compaction. */
const WAIT_MS = 60_000

/** Completes an interrupted removal, or withdraws it if the alias still exists. The caller must hold the writer lock. */
async function finishRemoval(location: TableLocation, belongings: Belongings): Promise<void> {
  const { files } = storeOf(location.dir)
  if ((await files.read(removalMark(location))) === undefined) return
  if ((await readAlias(location)) === undefined) await removeFiles(location, belongings)
  else await files.remove(removalMark(location))
}

/** Whether a collection exists. @throws conflict if it does, and another language was chosen for it, or none */
async function exists(connection: Connection, location: TableLocation, language?: WordLanguage): Promise<boolean> {
  const storedAs = await readAlias(location)
  if (storedAs === undefined || language === undefined) return storedAs !== undefined
  using table = await connection.openTable(storedAs)
  const { chosen } = await readWordIndex(table)
  const problem = `The collection "${location.table}" exists, and its language is chosen when it is made`
  if (chosen !== language) throw conflict('language', `${problem}: leave it out, or name a new collection.`)
  return true
}

async function removeFiles({ dir, table }: TableLocation, { release }: Belongings): Promise<void> {
  const { files } = storeOf(dir)
  await release(table)
  for (const name of await files.list(dir)) {
    const [of, ...rest] = name.split('.')
    if (of === table && FOLDERS.includes(rest.at(-1) ?? '')) await files.removeTree(within(dir, name))
  }
  await files.remove(removalMark({ dir, table }))
}

/** Runs work while nobody writes to the table or compacts it. */
async function alone(location: TableLocation, work: () => Promise<void>): Promise<void> {
  const done = await withMaintenanceLock(location, { waitMs: WAIT_MS }, () => withWriterLock(location, work))
  if (!done)
    throw new CodedError('conflict', `The files of the collection "${location.table}" are being compacted. Try again later.`, {
      field: 'name',
      retryAfterS: 10,
    })
}

/** What other parts keep by the name of a collection. A collection that is created under the name of a removed one must not get it. */
interface Belongings {
  readonly unfinishedJobs: (name: string) => Promise<readonly string[]>
  /** Deletes or detaches it; idempotent. Called under the writer lock, once the name is gone. */
  readonly release: (name: string) => Promise<void>
}

const NO_BELONGINGS: Belongings = { unfinishedJobs: () => Promise.resolve([]), release: () => Promise.resolve() }

interface CollectionsOptions {
  readonly main: PassageIndex
  /** Folder or address of the other collections. Default: that of the main one. */
  readonly dir?: string
  /** Maximum collections open in addition to the main one. */
  readonly mostOpen?: number
  readonly keepMs?: number
  /** Called with failures outside of requests, and the collection's name. */
  readonly onWarning?: (message: string) => void
  readonly readOnly?: boolean
  readonly embedOf?: EmbedOf | undefined
  readonly belongings?: Belongings
}

/** Maximum collections of an index: every listing reads all names. */
const MOST_COLLECTIONS = 1000
const DEFAULT_OPEN = 16
const ALIAS = '.alias.json'
/** Tables described concurrently. */
const AT_ONCE = 4

/** The collections of an index. Only the main one is open; the others are opened on use. */
export class IndexCollections implements Collections {
  readonly main: PassageIndex
  readonly #dir: string
  readonly #models: Models
  readonly #tables: TableCache
  readonly #belongings: Belongings

  constructor(options: CollectionsOptions) {
    const { main, dir = main.dir, mostOpen = DEFAULT_OPEN, belongings = NO_BELONGINGS, onWarning = () => undefined, ...opening } = options
    this.#belongings = belongings
    this.main = main
    this.#dir = dir
    this.#models = { model: main.model, furtherModels: main.furtherModels ?? [] }
    this.#tables = tableCache(mostOpen, async (table) => {
      await this.#require(table)
      return openIndex({
        ...opening,
        ...this.#models,
        dir,
        table,
        removed: () => unknownCollection(table),
        onWarning: (message) => onWarning(`Collection ${table}: ${message}`),
      }).catch(explainedBy(() => this.#require(table)))
    })
  }

  get opened(): number {
    return this.#tables.size() + 1
  }

  async open(name: string): Promise<PassageIndex> {
    if (name !== this.main.table) await this.#tables.use(name, () => Promise.resolve())
    return this.later(name)
  }

  later(name: string): PassageIndex {
    if (name === this.main.table) return this.main
    return collectionIndex(this.#tables, { ...this.#models, dir: this.#dir, table: name })
  }

  async names(): Promise<string[]> {
    const named = (await storeOf(this.#dir).files.list(this.#dir)).filter((file) => file.endsWith(ALIAS))
    const found = new Set([this.main.table])
    // Some stores keep a removed name with an empty value.
    await eachOf(named, AT_ONCE, async (file) => {
      const table = file.slice(0, -ALIAS.length)
      // A collection with a damaged alias is listed with its problem.
      if ((await readAlias({ dir: this.#dir, table }).catch(() => table)) !== undefined) found.add(table)
    })
    return [...found].sort()
  }

  async describe(names: readonly string[]): Promise<CollectionInfo[]> {
    using connection = await connectLance(this.#dir, undefined)
    const found = new Map<string, CollectionInfo>()
    await eachOf(names, AT_ONCE, async (name) => {
      const info = await this.#describe(connection, name)
      if (info !== undefined) found.set(name, info)
    })
    return names.flatMap((name) => found.get(name) ?? [])
  }

  async create(name: string, language?: WordLanguage): Promise<boolean> {
    const dir = this.#dir
    const location = { dir, table: checkTableName(name) }
    await checkFolder(dir)
    using connection = await connectForWriting(dir)
    if (await exists(connection, location, language)) return false
    await this.#requireRoom()
    return await withWriterLock(location, async () => {
      await finishRemoval(location, this.#belongings)
      if (await exists(connection, location, language)) return false
      const nameless = await namelessTables(location)
      if (nameless !== undefined) throw nameless
      return createLiveTable(connection, { ...location, model: this.main.model }, language)
    })
  }

  async checkLanguage(name: string, language: WordLanguage): Promise<void> {
    using connection = await connectLance(this.#dir, undefined)
    await exists(connection, { dir: this.#dir, table: checkTableName(name) }, language)
  }

  async copy(name: string, of: string): Promise<boolean> {
    const location = { dir: this.#dir, table: checkTableName(name) }
    if (of === name) throw invalidRequest('copy_of', `"${of}" is the collection itself: name another one.`)
    if (of !== this.main.table) await this.#require(of, 'copy_of')
    const isNew = (await readAlias(location)) === undefined
    if (isNew) {
      await this.#requireRoom()
      await withWriterLock(location, () => finishRemoval(location, this.#belongings))
    }
    await switchTable(of, { ...this.#models, ...location })
    // The next question in this process uses the new contents.
    if (name === this.main.table) await this.main.refresh()
    else this.#tables.drop(name)
    return isNew
  }

  /**
   * Writes a removal mark, deletes the alias (the table is gone for all processes), its files and snapshots, and the mark. A process killed
   * before the alias is deleted leaves the table intact; later, it leaves files that `finishRemovals` removes.
   */
  async remove(name: string): Promise<void> {
    const message = `"${name}" is the default collection of this service (CEPE_TABLE), which stays: replace its passages, or delete them.`
    if (name === this.main.table) throw conflict('name', message)
    await this.#require(name, 'name')
    const location = { dir: this.#dir, table: name }
    await alone(location, async () => {
      if ((await readAlias(location)) === undefined) throw unknownCollection(name)
      const jobs = [...new Set([...(await watchingJobs(location)), ...(await this.#belongings.unfinishedJobs(name))])]
      const message = `Jobs of the collection "${name}" have not ended (${jobs.slice(0, 5).join(', ')}): let them end, or cancel them (DELETE /v1/admin/index-jobs/<id>), and try again.`
      if (jobs.length > 0) throw conflict('name', message)
      await storeOf(this.#dir).files.write(removalMark(location), '')
      await removeAlias(location)
      await removeFiles(location, this.#belongings)
    }).finally(() => this.#tables.drop(name))
  }

  /** Tables whose alias still exists are kept. */
  async finishRemovals(): Promise<void> {
    const dir = this.#dir
    for (const file of await storeOf(dir).files.list(dir)) {
      const location = { dir, table: file.slice(0, -REMOVING.length) }
      if (file.endsWith(REMOVING)) await alone(location, () => finishRemoval(location, this.#belongings))
    }
  }

  close(): void {
    this.#tables.close()
    this.main.close()
  }

  /** @throws unknown_collection */
  async #require(name: string, field?: string): Promise<void> {
    if ((await readAlias({ dir: this.#dir, table: name })) !== undefined) return
    await checkFolder(this.#dir)
    throw unknownCollection(name, field)
  }

  async #requireRoom(): Promise<void> {
    if ((await this.names()).length >= MOST_COLLECTIONS)
      throw unprocessable('name', `An index has ${MOST_COLLECTIONS} collections at most: delete one that is not needed.`)
  }

  /** @returns undefined if it was removed concurrently */
  async #describe(connection: Connection, name: string): Promise<CollectionInfo | undefined> {
    try {
      if (name === this.main.table) {
        const { passages } = await (await this.main.view()).version()
        return { name, passages, state: 'ready', problem: undefined }
      }
      const storedAs = await readAlias({ dir: this.#dir, table: name })
      if (storedAs === undefined) return undefined
      const table = await connection.openTable(storedAs)
      const metadata = await readMetadata(table)
      const passages = await table.countRows()
      const problem = unservable(name, metadata, this.#models)
      return { name, passages, state: problem === undefined ? 'ready' : 'incompatible', problem }
    } catch (error) {
      return notRead(name, error)
    }
  }
}

function notRead(name: string, error: unknown): CollectionInfo {
  const problem = failureOf(error) ?? new CodedError('index_invalid', messageOf(error), { cause: error })
  const state = problem.code === 'index_missing' ? 'missing' : problem.code === 'index_invalid' ? 'incompatible' : 'unavailable'
  return { name, passages: undefined, state, problem }
}
