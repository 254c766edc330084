import { randomUUID } from 'node:crypto'
import { copyFile, mkdir, readdir, rename, rm, stat } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { downloadObject, forEachOf, listObjects } from '../store/objects.ts'
import { isRemote, within } from '../store/place.ts'
import { messageOf } from '../../base/errors.ts'
import { filesUnder as allFiles } from '../../base/files-under.ts'
import { aliasPath, readAlias, tableFolder, writeAlias } from './alias.ts'

/** How often the store is looked at: a commit or another table is noticed within half of that, on average. */
const DEFAULT_EVERY_MS = 500
/** By then nobody reads what was replaced any more. */
const RETIRE_MS = 60_000
const VERSIONS = '_versions'
const ASIDE = '.mirror'
/** Files that are copied at a time. */
const AT_ONCE = 8

export interface MirrorOptions {
  /** Folder of the tables, or its address in an object store, which others write. */
  readonly from: string
  /** Folder on a local disk, of this process alone. */
  readonly to: string
  readonly table: string
  readonly everyMs?: number
  /** Told once for each obstacle. */
  readonly onWarning?: (message: string) => void
}

export interface MirrorStatus {
  /** Why the store could not be copied the last time; what was copied before stays in service. */
  readonly trouble: string | undefined
  /** When it was copied, or found unchanged, last. */
  readonly checkedAt: Date | undefined
}

export interface Mirror {
  status(): MirrorStatus
  /** Looks now, and returns when what is there has been copied. @throws what keeps it from being copied */
  sync(): Promise<void>
  close(): void
}

/** Starts to follow a table: its files, which never change once written, are copied before the manifest that names them, and the alias last. */
export async function startMirror(options: MirrorOptions): Promise<Mirror> {
  await mkdir(options.to, { recursive: true })
  await rm(join(options.to, ASIDE), { recursive: true, force: true })
  const mirror = new FolderMirror(options)
  await mirror.sync().catch(() => undefined)
  mirror.follow()
  return mirror
}

class FolderMirror implements Mirror {
  readonly #options: MirrorOptions
  #trouble: string | undefined
  #checkedAt: Date | undefined
  #timer: NodeJS.Timeout | undefined
  #running: Promise<void> | undefined
  #closed = false
  /** Copies of what is no longer in the store, since when. */
  readonly #gone = new Map<string, number>()

  constructor(options: MirrorOptions) {
    this.#options = options
  }

  status(): MirrorStatus {
    return { trouble: this.#trouble, checkedAt: this.#checkedAt }
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
      if (typeof alias?.stored_as === 'string') {
        await this.#copyTable(alias.stored_as)
        if (mine?.stored_as !== alias.stored_as) await writeAlias(to, table, { stored_as: alias.stored_as, replaced_by_job: null })
        await this.#retire(alias.stored_as)
        this.#trouble = undefined
        this.#checkedAt = new Date()
        return
      }
      throw new Error(`there is no table "${table}" in ${from}`)
    } catch (error) {
      const trouble = `the store cannot be copied: ${messageOf(error)}`
      if (this.#trouble === undefined) onWarning?.(trouble)
      this.#trouble = trouble
      throw error
    }
  }

  /** Manifests are listed first and copied last: every file that they name is there, and whole, by then. */
  async #copyTable(storedAs: string): Promise<void> {
    const { from, to } = this.#options
    const [source, target] = [tableFolder(from, storedAs), tableFolder(to, storedAs)]
    const copied = await filesUnder(target)
    if (isRemote(source) && (await hasNewest(source, copied))) return this.#drop(target)
    const manifests = [...(await filesUnder(within(source, VERSIONS)))]
      .filter(([name]) => name.endsWith('.manifest'))
      .map(([name]) => join(VERSIONS, name))
    if (manifests.length === 0) throw new Error(`${source} has no version`)
    const fresh = manifests.filter((file) => !copied.has(file))
    if (fresh.length === 0) return this.#drop(target)
    const others = await filesUnder(source, (file) => !file.startsWith(VERSIONS) && !file.includes('.tmp'))
    const changed = [...others].filter(([file, size]) => copied.get(file) !== size).map(([file]) => file)
    const copy = (file: string): Promise<void> => this.#copy(within(source, file), join(target, file))
    await forEachOf(changed, copy, AT_ONCE)
    await forEachOf(fresh, copy, AT_ONCE)
    const present = new Set([...others.keys(), ...manifests])
    for (const file of copied.keys()) {
      const path = join(target, file)
      if (present.has(file)) this.#gone.delete(path)
      else if (!this.#gone.has(path)) this.#gone.set(path, performance.now())
    }
    await this.#drop(target)
  }

  /** In place whole or not at all. */
  async #copy(source: string, target: string): Promise<void> {
    const aside = join(this.#options.to, ASIDE, randomUUID())
    await mkdir(dirname(aside), { recursive: true })
    await mkdir(dirname(target), { recursive: true })
    try {
      await (isRemote(source) ? downloadObject(source, aside) : copyFile(source, aside))
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
    if (Date.now() - (await stat(aliasPath(to, table))).mtimeMs < RETIRE_MS) return
    for (const name of await readdir(to)) {
      if (name.startsWith(`${table}.`) && name.endsWith('.lance') && name !== `${storedAs}.lance`) {
        await rm(join(to, name), { recursive: true, force: true })
      }
    }
  }
}

/** Manifests of tables that LanceDB made lately sort by their name, the newest first; older tables' do not. */
const NEWEST_FIRST = /^\d{20}\.manifest$/

/** True if the newest version is copied, as far as one look at the store tells. */
async function hasNewest(source: string, copied: ReadonlyMap<string, number>): Promise<boolean> {
  for await (const { name } of listObjects(within(source, VERSIONS), 1)) return NEWEST_FIRST.test(name) && copied.has(join(VERSIONS, name))
  return false
}

/** Files in a folder and below: their paths in it, and sizes. One that goes meanwhile is left out. */
async function filesUnder(folder: string, wanted: (file: string) => boolean = () => true): Promise<Map<string, number>> {
  const found = new Map<string, number>()
  if (isRemote(folder)) {
    for await (const { name, bytes } of listObjects(folder)) if (wanted(name)) found.set(name, bytes)
    return found
  }
  for (const path of await allFiles(folder)) {
    const file = relative(folder, path)
    if (!wanted(file)) continue
    const size = await stat(path).then(
      (one) => one.size,
      () => undefined,
    )
    if (size !== undefined) found.set(file, size)
  }
  return found
}
