import { randomUUID } from 'node:crypto'
import { appendFile, readdir, rm, stat } from 'node:fs/promises'
import { basename, join, relative, sep } from 'node:path'
import { Type } from '#typebox'
import { Value } from '#typebox/value'
import { ageOf } from '../../base/locks/clock.ts'
import { orAbsent } from '../../base/exists.ts'
import { sha256OfFile } from '../../base/files.ts'
import { parseJson } from '../../base/json.ts'
import { storeOf, within } from '../store/store-of.ts'
import { versionOfManifest, VERSIONS } from './manifest.ts'
import { makeFolder } from '../../base/make-folder.ts'

/**
 * SHA-256 of the files of a stored table, which are immutable. Each writing process appends to a list of its own in this folder of the
 * table: a line per file, when it is committed. Lists are copied with the table.
 */
export const CHECKSUMS = '_checksums'
const SUFFIX = '.jsonl'
/** Folders of a stored table whose files have checksums. */
const CHECKED = ['data', '_indices', '_deletions', VERSIONS]

const ChecksumSchema = Type.Object({ file: Type.String(), sha256: Type.String({ pattern: '^[0-9a-f]{64}$' }) })

/** Larger files are hashed in the background, so that writers wait for the disk only. */
const SMALL_BYTES = 8 * 2 ** 20
/** Lines of a list after which those of removed files are left out. */
const MOST_LINES = 10_000
/** A list whose files are all gone is removed after this time, when its process has certainly ended. */
const FORGOTTEN_MS = 24 * 3_600_000

/** Recorded checksums by path in the table, with slashes. Several per file if processes read it at the same time. */
export type Recorded = ReadonlyMap<string, ReadonlySet<string>>

interface TableFile {
  readonly path: string
  /** Relative path, as in the checksum lists. */
  readonly file: string
}

/** True if the file at this relative path has a checksum. */
export function isChecked(file: string): boolean {
  const [top = ''] = file.split('/')
  if (top === VERSIONS) return versionOfManifest(basename(file)) !== undefined
  return CHECKED.includes(top) && !basename(file).startsWith('.tmp') && !file.includes('#')
}

/** Relative path of a file in a table's folder, as in the checksum lists. */
export function pathInTable(folder: string, path: string): string {
  return relative(folder, path).split(sep).join('/')
}

/** Reads the checksums of a stored table. @param folder or address of the table */
export async function readChecksums(folder: string): Promise<Recorded> {
  const recorded = new Map<string, Set<string>>()
  const lists = within(folder, CHECKSUMS)
  const { files } = storeOf(folder)
  for (const name of await files.list(lists)) if (name.endsWith(SUFFIX)) addLines(recorded, await files.read(within(lists, name)))
  return recorded
}

function addLines(recorded: Map<string, Set<string>>, text = ''): void {
  for (const line of text.split('\n')) {
    const value = parseJson(line)
    // A torn line.
    if (!Value.Check(ChecksumSchema, value)) continue
    const known = recorded.get(value.file) ?? new Set()
    recorded.set(value.file, known.add(value.sha256))
  }
}

/** Records the checksums of new files of one table in a folder. */
export class Checksums {
  readonly #folder: string
  #list = `${randomUUID()}${SUFFIX}`
  /** Lines added to the list. */
  #lines = 0
  /** Lists read before, with their sizes. */
  readonly #read = new Map<string, number>()
  readonly #recorded = new Map<string, ReadonlySet<string>>()
  #later: Promise<void> = Promise.resolve()

  constructor(folder: string) {
    this.#folder = folder
  }

  /**
   * Hashes new files once and records their checksums; large files, if wanted, after the function has resolved. The files are committed
   * already: a checksum that cannot be recorded is omitted.
   * @returns false if it was: call again later
   */
  async add(paths: readonly string[], withLarge = true): Promise<boolean> {
    const files = paths.map((path) => ({ path, file: pathInTable(this.#folder, path) }))
    const [small, large]: [TableFile[], TableFile[]] = [[], []]
    for (const one of files.filter(({ file }) => isChecked(file) && !this.#recorded.has(file)))
      (((await sizeOf(one.path)) ?? 0) <= SMALL_BYTES ? small : large).push(one)
    if (withLarge && large.length > 0) this.#later = this.#later.then(() => this.#record(large)).catch(() => undefined)
    return this.#record(small).then(
      () => true,
      () => false,
    )
  }

  /** True if a checksum of the file is recorded, as of the last `read`. */
  has(path: string): boolean {
    return this.#recorded.has(pathInTable(this.#folder, path))
  }

  /** Resolves when large files have their checksums too. */
  settled(): Promise<void> {
    return this.#later
  }

  async #record(files: readonly TableFile[]): Promise<void> {
    const found = new Map<string, ReadonlySet<string>>()
    let lines = ''
    for (const { path, file } of files) {
      const sha256 = await orAbsent(sha256OfFile(path))
      if (sha256 === undefined) continue
      found.set(file, new Set([sha256]))
      lines += `\n${JSON.stringify({ file, sha256 })}`
    }
    if (lines === '') return
    await makeFolder(join(this.#folder, CHECKSUMS))
    // Not fsynced: a line lost in a power failure leaves a file without checksum, not with a wrong one.
    await appendFile(join(this.#folder, CHECKSUMS, this.#list), lines)
    for (const [file, sums] of found) this.#recorded.set(file, sums)
    this.#lines += found.size
    if (this.#lines >= MOST_LINES) await this.#beginList()
  }

  /** Replaces this process's list with one of the files that are still there. */
  async #beginList(): Promise<void> {
    const [old, own] = [join(this.#folder, CHECKSUMS, this.#list), new Map<string, Set<string>>()]
    addLines(own, await storeOf(old).files.read(old))
    this.#list = `${randomUUID()}${SUFFIX}`
    this.#lines = 0
    let lines = ''
    for (const [file, sums] of own)
      if ((await sizeOf(join(this.#folder, file))) === undefined) this.#recorded.delete(file)
      else for (const sha256 of sums) lines += `\n${JSON.stringify({ file, sha256 })}`
    await storeOf(old).files.write(join(this.#folder, CHECKSUMS, this.#list), lines)
    await rm(old, { force: true })
  }

  /** Reads checksums recorded by other processes. Their large files are not hashed again. */
  async read(): Promise<void> {
    const folder = join(this.#folder, CHECKSUMS)
    for (const name of (await orAbsent(readdir(folder))) ?? []) {
      const path = join(folder, name)
      const size = await sizeOf(path)
      if (!name.endsWith(SUFFIX) || name === this.#list || size === undefined || this.#read.get(name) === size) continue
      this.#read.set(name, size)
      const own = new Map<string, Set<string>>()
      addLines(own, await storeOf(path).files.read(path))
      for (const [file, sums] of own) this.#recorded.set(file, sums)
      if (await this.#isForgotten(path, own)) await rm(path, { force: true })
    }
  }

  async #isForgotten(path: string, recorded: Recorded): Promise<boolean> {
    const touched = await orAbsent(stat(path))
    if (touched === undefined || ageOf(touched.mtimeMs) < FORGOTTEN_MS) return false
    for (const file of recorded.keys()) if ((await sizeOf(join(this.#folder, file))) !== undefined) return false
    return true
  }
}

async function sizeOf(path: string): Promise<number | undefined> {
  return (await orAbsent(stat(path)))?.size
}
