import { randomUUID } from 'node:crypto'
import { mkdir, readdir, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { eachOf } from '../store/each-of.ts'
import { storeOf, within } from '../store/store-of.ts'
import { CodedError, messageOf } from '../../base/errors.ts'
import { allModels, type Models } from '../contract.ts'
import { aliasAge, aliasPath, readAlias, tableFolder, writeAlias } from '../versions/alias.ts'
import { modelOf, incompatibility } from '../versions/compatibility.ts'
import { connectLance } from '../table/lance.ts'
import { readMetadata } from '../table/metadata.ts'
import { pathInTable, readChecksums, sha256Of } from '../table/checksums.ts'

/** How often the store is looked at: a commit or another table is noticed within half of that, on average. */
const DEFAULT_EVERY_MS = 500
/** By then no process reads what was replaced. */
const RETIRE_MS = 60_000
const VERSIONS = '_versions'
const ASIDE = '.mirror'
/** Files that are copied at a time. */
const AT_ONCE = 8

export interface ReplicaCacheOptions {
  /** Folder of the tables, or its address in an object store, which others write. */
  readonly from: string
  /** Folder on a local disk, of this process alone. */
  readonly to: string
  readonly table: string
  /** At hand: a table of none of them is not copied over one that is. Without, any is copied. */
  readonly models?: Models
  /** Most that tables may take in `to`. Without, the disk's. */
  readonly maxBytes?: number
  readonly everyMs?: number
  /** Told once for each obstacle. */
  readonly onWarning?: (message: string) => void
}

export interface ReplicaCacheStatus {
  /** Why the store could not be copied the last time; what was copied before stays in service. */
  readonly trouble: string | undefined
  /** Why the newest table is not copied, though the store is there: the copy of the one before stays in service. */
  readonly refused: CodedError | undefined
  /** When it was copied, or found unchanged, last. */
  readonly checkedAt: Date | undefined
}

export interface ReplicaCache {
  status(): ReplicaCacheStatus
  /** Looks now, and returns when what is there has been copied. @throws what keeps it from being copied */
  sync(): Promise<void>
  close(): void
}

/**
 * Starts to follow a table: its files, which never change once written, are copied before the manifest that names them, and the alias last.
 * @throws disk_full where there is no copy, and the table is larger than what it may take
 */
export async function startReplicaCache(options: ReplicaCacheOptions): Promise<ReplicaCache> {
  await mkdir(options.to, { recursive: true })
  await rm(join(options.to, ASIDE), { recursive: true, force: true })
  const replicaCache = new FolderReplicaCache(options)
  await replicaCache.begin()
  replicaCache.follow()
  return replicaCache
}

class FolderReplicaCache implements ReplicaCache {
  readonly #options: ReplicaCacheOptions
  #trouble: string | undefined
  #refused: CodedError | undefined
  /** The last table whose model was looked at, and why it is not to be copied. */
  #judged: { readonly storedAs: string; readonly verdict: CodedError | undefined } | undefined
  #checkedAt: Date | undefined
  #timer: NodeJS.Timeout | undefined
  #running: Promise<void> | undefined
  #closed = false
  /** Copies of what is no longer in the store, since when. */
  readonly #gone = new Map<string, number>()

  constructor(options: ReplicaCacheOptions) {
    this.#options = options
  }

  status(): ReplicaCacheStatus {
    return { trouble: this.#trouble, refused: this.#refused, checkedAt: this.#checkedAt }
  }

  /** The first look, before anybody reads the copy: where that stands in the way of the newest table, which would fit alone, it goes. */
  async begin(): Promise<void> {
    await this.sync().catch(() => undefined)
    const { from, to, table, maxBytes = Infinity } = this.#options
    if (this.#refused?.code !== 'disk_full') return
    const newest = (await readAlias(from, table))?.stored_as ?? ''
    if (totalOf(await filesUnder(tableFolder(from, newest))) <= maxBytes) {
      await rm(aliasPath(to, table), { force: true })
      await this.#removeOthers('', '')
      await this.sync().catch(() => undefined)
    } else if ((await readAlias(to, table)) === undefined) throw this.#refused
  }

  sync(): Promise<void> {
    this.#running = (this.#running ?? Promise.resolve()).catch(() => undefined).then(() => this.#sync())
    return this.#running
  }

  follow(): void {
    if (this.#closed) return
    this.#timer = setTimeout(() => {
      this.sync()
        .catch(() => undefined)
        .finally(() => this.follow())
    }, this.#options.everyMs ?? DEFAULT_EVERY_MS).unref()
  }

  close(): void {
    this.#closed = true
    clearTimeout(this.#timer)
  }

  async #sync(): Promise<void> {
    const { from, to, table, onWarning } = this.#options
    try {
      const alias = await readAlias(from, table)
      const mine = await readAlias(to, table)
      if (alias === undefined) throw new Error(`there is no table "${table}" in ${from}`)
      const replaces = mine !== undefined && mine.stored_as !== alias.stored_as
      this.#refuse((replaces ? await this.#judge(alias.stored_as) : undefined) ?? (await this.#copyTable(alias.stored_as)))
      if (this.#refused === undefined) {
        if (mine?.stored_as !== alias.stored_as) await writeAlias(to, table, { stored_as: alias.stored_as })
        await this.#retire(alias.stored_as)
      }
      this.#trouble = undefined
      this.#checkedAt = new Date()
    } catch (error) {
      const trouble = `the table cannot be copied from the object store: ${messageOf(error)}`
      if (this.#trouble === undefined) onWarning?.(trouble)
      this.#trouble = trouble
      throw error
    }
  }

  #refuse(why: CodedError | undefined): void {
    if (why !== undefined && why.message !== this.#refused?.message)
      this.#options.onWarning?.(`The replica cache was not updated: ${why.message}`)
    this.#refused = why
  }

  /** Why a table is not to take the place of the one that is copied: this process could not search it. */
  async #judge(storedAs: string): Promise<CodedError | undefined> {
    const { from, table: name, models } = this.#options
    if (models === undefined) return undefined
    if (this.#judged?.storedAs === storedAs) return this.#judged.verdict
    const connection = await connectLance(from, undefined)
    try {
      const metadata = await readMetadata(await connection.openTable(storedAs))
      const verdict = modelOf(metadata, allModels(models)) === undefined ? incompatibility(name, metadata, models) : undefined
      this.#judged = { storedAs, verdict }
      return verdict
    } finally {
      connection.close()
    }
  }

  /**
   * Manifests are listed first and copied last: every file that they name is there, and whole, by then.
   * @returns why nothing was copied, where it may not take so much.
   */
  async #copyTable(storedAs: string): Promise<CodedError | undefined> {
    const { from, to } = this.#options
    const [source, target] = [tableFolder(from, storedAs), tableFolder(to, storedAs)]
    const copied = await filesUnder(target)
    await this.#drop(target)
    if (storeOf(source).slowReads && (await hasNewest(source, copied))) return undefined
    const manifests = [...(await filesUnder(within(source, VERSIONS)))]
      .filter(([name]) => name.endsWith('.manifest'))
      .map(([name]) => join(VERSIONS, name))
    if (manifests.length === 0) throw new Error(`${source} has no version`)
    const fresh = manifests.filter((file) => !copied.has(file))
    if (fresh.length === 0) return undefined
    const others = await filesUnder(source, (file) => !file.startsWith(VERSIONS) && !file.includes('.tmp'))
    const open = [...others].filter(([file, size]) => copied.get(file) !== size)
    const tooMuch = await this.#tooMuch(totalOf(open), totalOf(others))
    if (tooMuch !== undefined) return tooMuch
    const changed = open.map(([file]) => file)
    const checksums = await readChecksums(source)
    const copy = (file: string): Promise<void> =>
      this.#copy(within(source, file), join(target, file), checksums.get(pathInTable(target, join(target, file))))
    await eachOf(changed, AT_ONCE, copy)
    await eachOf(fresh, AT_ONCE, copy)
    const present = new Set([...others.keys(), ...manifests])
    for (const file of copied.keys()) {
      const path = join(target, file)
      if (present.has(file)) this.#gone.delete(path)
      else if (!this.#gone.has(path)) this.#gone.set(path, performance.now())
    }
    return undefined
  }

  /** Why so many bytes more are not to be copied, of a table of so many. */
  async #tooMuch(bytes: number, whole: number): Promise<CodedError | undefined> {
    const { to, maxBytes = Infinity } = this.#options
    if (maxBytes === Infinity) return undefined
    const taken = totalOf(await filesUnder(to, (file) => /\.lance[\\/]/.test(file)))
    if (taken + bytes <= maxBytes) return undefined
    const megabytes = (count: number): string => `${(count / 1e6).toFixed(count < 1e7 ? 1 : 0)} MB`
    return new CodedError(
      'disk_full',
      `The newest state of the table takes ${megabytes(bytes)} more in ${to}, which holds ${megabytes(taken)} of ${megabytes(maxBytes)} (CEPE_MIRROR_MB): ` +
        (whole > maxBytes
          ? `the table alone is larger. Raise that, or leave CEPE_MIRROR_DIR out: searches are then read from the store itself.`
          : `raise that (a change of tables takes twice the table), or start this process again, which then copies the table alone.`),
      { field: 'CEPE_MIRROR_MB' },
    )
  }

  /** In place whole or not at all, and as it was committed. @param sums its checksums; undefined where none was recorded */
  async #copy(source: string, target: string, sums: ReadonlySet<string> | undefined): Promise<void> {
    const aside = join(this.#options.to, ASIDE, randomUUID())
    await mkdir(dirname(aside), { recursive: true })
    await mkdir(dirname(target), { recursive: true })
    try {
      await storeOf(source).files.download(source, aside)
      if (sums !== undefined && !sums.has(await sha256Of(aside)))
        throw new CodedError(
          'index_invalid',
          `${source} has changed since it was committed (SHA-256): run cepe index verify beside the table.`,
        )
      await rename(aside, target)
    } catch (error) {
      await rm(aside, { force: true })
      throw error
    }
  }

  /** Removes copies of files that the store no longer has, a while later. */
  async #drop(target: string): Promise<void> {
    for (const [path, since] of this.#gone) {
      if (performance.now() - since < RETIRE_MS) continue
      if (path.startsWith(target)) await rm(path, { force: true })
      this.#gone.delete(path)
    }
  }

  /** Removes copies of tables that were replaced, a while later. */
  async #retire(storedAs: string): Promise<void> {
    const { to, table } = this.#options
    if ((await aliasAge(to, table)) >= RETIRE_MS) await this.#removeOthers(storedAs)
  }

  /** @param prefix of the names that go, of this table's where absent */
  async #removeOthers(storedAs: string, prefix = `${this.#options.table}.`): Promise<void> {
    const { to } = this.#options
    for (const name of await readdir(to)) {
      if (name.startsWith(prefix) && name.endsWith('.lance') && name !== `${storedAs}.lance`) {
        await rm(join(to, name), { recursive: true, force: true })
      }
    }
  }
}

/** Manifests of tables that LanceDB made lately sort by their name, the newest first; older tables' do not. */
const NEWEST_FIRST = /^\d{20}\.manifest$/

/** True if the newest version is copied, as far as one look at the store tells. */
async function hasNewest(source: string, copied: ReadonlyMap<string, number>): Promise<boolean> {
  for await (const { name } of storeOf(source).files.walk(within(source, VERSIONS), 1))
    return NEWEST_FIRST.test(name) && copied.has(join(VERSIONS, name))
  return false
}

function totalOf(files: Iterable<readonly [string, number]>): number {
  let sum = 0
  for (const [, size] of files) sum += size
  return sum
}

/** Files in a folder and below: their paths in it, and sizes. One that goes meanwhile is left out. */
async function filesUnder(folder: string, wanted: (file: string) => boolean = () => true): Promise<Map<string, number>> {
  const found = new Map<string, number>()
  for await (const { name, bytes } of storeOf(folder).files.walk(folder)) if (wanted(name)) found.set(name, bytes)
  return found
}
