import { randomUUID } from 'node:crypto'
import { appendFile, readdir, rm, stat } from 'node:fs/promises'
import { basename, join, relative, sep } from 'node:path'
import { Type } from 'typebox'
import { Value } from 'typebox/value'
import { keptOrMade } from '../../base/at.ts'
import { ageOf } from '../../base/clock.ts'
import { orAbsent } from '../../base/exists.ts'
import { sha256OfFile } from '../../base/files.ts'
import { parseJson } from '../../base/json.ts'
import { storeOf, within } from '../store/store-of.ts'
import { isManifest, VERSIONS } from './manifest.ts'
import { makeFolder } from '../../base/durable.ts'

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

/** True if the file at this relative path has a checksum. */
function isChecked(file: string): boolean {
  const [top = ''] = file.split('/')
  if (top === VERSIONS) return isManifest(basename(file))
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
  for (const name of await storeOf(folder).files.list(lists)) if (name.endsWith(SUFFIX)) await readList(within(lists, name), recorded)
  return recorded
}

/** Adds the checksums of one list to those recorded. */
async function readList(path: string, recorded = new Map<string, Set<string>>()): Promise<Recorded> {
  for (const line of ((await storeOf(path).files.read(path)) ?? '').split('\n')) {
    const value = parseJson(line)
    // A torn line.
    if (!Value.Check(ChecksumSchema, value)) continue
    keptOrMade(recorded, value.file, () => new Set()).add(value.sha256)
  }
  return recorded
}

/** Records the checksums of new files of one table in a folder. */
export class Checksums {
  #list = `${randomUUID()}${SUFFIX}`
  /** Lines added to the list. */
  #lines = 0
  /** Lists read before, with their sizes. */
  readonly #read = new Map<string, number>()
  /** Of all processes, as of the last `read`. */
  readonly recorded = new Map<string, Set<string>>()
  #later: Promise<void> = Promise.resolve()

  constructor(private readonly folder: string) {}

  /**
   * Hashes new files once and records their checksums; large files, if wanted, after the function has resolved. The files are committed
   * already: a checksum that cannot be recorded is omitted.
   * @returns false if it was: call again later
   */
  async add(paths: readonly string[], withLarge = true): Promise<boolean> {
    const files = paths.map((path) => pathInTable(this.folder, path)).filter((file) => isChecked(file) && !this.recorded.has(file))
    const [small, large]: [string[], string[]] = [[], []]
    for (const file of files) (((await this.#sizeOf(file)) ?? 0) <= SMALL_BYTES ? small : large).push(file)
    if (withLarge && large.length > 0) this.#later = this.#later.then(() => this.#record(large)).catch(() => undefined)
    return this.#record(small).then(
      () => true,
      () => false,
    )
  }

  /** True if a checksum of the file is recorded, as of the last `read`. */
  has(path: string): boolean {
    return this.recorded.has(pathInTable(this.folder, path))
  }

  /** Resolves when large files have their checksums too. */
  settled(): Promise<void> {
    return this.#later
  }

  async #record(files: readonly string[]): Promise<void> {
    const found = new Map<string, string>()
    let lines = ''
    for (const file of files) {
      const sha256 = await orAbsent(sha256OfFile(join(this.folder, file)))
      if (sha256 === undefined) continue
      found.set(file, sha256)
      lines += `\n${JSON.stringify({ file, sha256 })}`
    }
    if (lines === '') return
    await makeFolder(join(this.folder, CHECKSUMS))
    // Not fsynced: a line lost in a power failure leaves a file without checksum, not with a wrong one.
    await appendFile(join(this.folder, CHECKSUMS, this.#list), lines)
    for (const [file, sha256] of found) keptOrMade(this.recorded, file, () => new Set()).add(sha256)
    this.#lines += found.size
    if (this.#lines >= MOST_LINES) await this.#beginList()
  }

  /** Replaces this process's list with one of the files that are still there. */
  async #beginList(): Promise<void> {
    const old = join(this.folder, CHECKSUMS, this.#list)
    const own = await readList(old)
    this.#list = `${randomUUID()}${SUFFIX}`
    this.#lines = 0
    let lines = ''
    for (const [file, sums] of own)
      if ((await this.#sizeOf(file)) === undefined) this.recorded.delete(file)
      else for (const sha256 of sums) lines += `\n${JSON.stringify({ file, sha256 })}`
    await storeOf(old).files.write(join(this.folder, CHECKSUMS, this.#list), lines)
    await rm(old, { force: true })
  }

  /** Reads checksums recorded by other processes. Their large files are not hashed again. */
  async read(): Promise<void> {
    for (const name of (await orAbsent(readdir(join(this.folder, CHECKSUMS)))) ?? []) {
      const path = join(this.folder, CHECKSUMS, name)
      const size = await this.#sizeOf(join(CHECKSUMS, name))
      if (!name.endsWith(SUFFIX) || name === this.#list || size === undefined || this.#read.get(name) === size) continue
      this.#read.set(name, size)
      const own = await readList(path)
      for (const [file, sums] of own) for (const sha256 of sums) keptOrMade(this.recorded, file, () => new Set()).add(sha256)
      if (await this.#isForgotten(path, own)) await rm(path, { force: true })
    }
  }

  async #isForgotten(path: string, recorded: Recorded): Promise<boolean> {
    const touched = await orAbsent(stat(path))
    if (touched === undefined || ageOf(touched.mtimeMs) < FORGOTTEN_MS) return false
    for (const file of recorded.keys()) if ((await this.#sizeOf(file)) !== undefined) return false
    return true
  }

  async #sizeOf(file: string): Promise<number | undefined> {
    return (await orAbsent(stat(join(this.folder, file))))?.size
  }
}
