import { randomUUID } from 'node:crypto'
import { readdir, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { sizeText, sum } from '../../base/at.ts'
import { CodedError, diskFull } from '../../base/errors.ts'
import { sha256OfFile } from '../../base/files.ts'
import { eachOf } from '../store/each-of.ts'
import { bytesUnder, sizesUnder, storeOf, within } from '../store/store-of.ts'
import { CHECKSUMS, pathInTable, readChecksums } from '../table/checksums.ts'
import { isManifest, manifestFiles, VERSIONS } from '../table/manifest.ts'
import { tableFolder } from '../versions/alias.ts'
import { makeFolder } from '../../base/durable.ts'

/** By then no process reads a replaced table. */
export const RETIRE_MS = 60_000
const ASIDE = '.mirror'
/** Files copied concurrently. */
const AT_ONCE = 8

export interface CopyOptions {
  /** Folder of the tables, or its address in an object store, written by other processes. */
  readonly from: string
  /** Folder on a local disk, used by this process only. */
  readonly to: string
  /** Size limit of the tables in `to`; by default the disk's. */
  readonly maxBytes?: number
}

/** Returns why a table with this many additional bytes exceeds the limit. */
async function tooLarge({ to, maxBytes = Infinity }: CopyOptions, bytes: number, whole: number): Promise<CodedError | undefined> {
  if (maxBytes === Infinity) return undefined
  const taken = await bytesUnder(to, ({ name }) => /\.lance[\\/]/.test(name))
  if (taken + bytes <= maxBytes) return undefined
  return diskFull(
    'CEPE_MIRROR_MB',
    `The newest state of the table takes ${sizeText(bytes)} more in ${to}, which holds ${sizeText(taken)} and may hold ${sizeText(maxBytes)} (CEPE_MIRROR_MB): ` +
      (whole > maxBytes
        ? `the table alone is larger. Raise that, or leave CEPE_MIRROR_DIR out: searches are then read from the store itself.`
        : `raise that (a change of tables takes twice the table), or start this process again, which then copies the table alone.`),
  )
}

/** Copies a file atomically and verifies it. @param to folder of the copies @param sums its checksums; undefined if none was recorded */
async function copyFile(to: string, source: string, target: string, sums: ReadonlySet<string> | undefined): Promise<void> {
  const aside = join(to, ASIDE, randomUUID())
  await makeFolder(dirname(aside))
  await makeFolder(dirname(target))
  try {
    await storeOf(source).files.download(source, aside)
    const message = `${source} has changed since it was committed (SHA-256): run cepe index verify where the table is stored.`
    if (sums !== undefined && !sums.has(await sha256OfFile(aside))) throw new CodedError('index_invalid', message)
    await rename(aside, target)
  } catch (error) {
    await rm(aside, { force: true })
    throw error
  }
}

/**
 * Copies of stored tables: files never change once written, so a copy is of those that are not there yet. Makes their folder, and removes
 * what an earlier process left half done.
 */
export async function openTableCopies(options: CopyOptions) {
  const { from, to, maxBytes = Infinity } = options
  /** Copied files that the store no longer has, by the time this was noticed. */
  const gone = new Map<string, number>()
  await makeFolder(to)
  await rm(join(to, ASIDE), { recursive: true, force: true })

  /** Removes copies of files that the store no longer has, after a delay. */
  const drop = async (target: string): Promise<void> => {
    for (const [path, since] of gone) {
      if (performance.now() - since < RETIRE_MS) continue
      if (path.startsWith(target)) await rm(path, { force: true })
      gone.delete(path)
    }
  }

  return {
    /** True where the table, alone, would not take too much. */
    fitsAlone: async (storedAs: string): Promise<boolean> => (await bytesUnder(tableFolder(from, storedAs))) <= maxBytes,

    /**
     * Manifests are listed first and copied last, so that every file that they refer to is complete by then.
     * @returns why nothing was copied, if the size limit prevents it
     */
    copy: async (storedAs: string): Promise<CodedError | undefined> => {
      const [source, target] = [tableFolder(from, storedAs), tableFolder(to, storedAs)]
      const copied = await sizesUnder(target)
      await drop(target)
      if (storeOf(source).slowReads && (await hasNewest(source, copied))) return undefined
      const manifests = (await manifestFiles(source)).map((name) => join(VERSIONS, name))
      if (manifests.length === 0) throw new Error(`${source} has no version`)
      const fresh = manifests.filter((file) => !copied.has(file))
      if (fresh.length === 0) return undefined
      // Checksums are compared here: their lists may have grown since the manifests were listed.
      const others = await sizesUnder(source, (file) => !file.startsWith(VERSIONS) && !file.startsWith(CHECKSUMS) && !file.includes('.tmp'))
      const open = [...others].filter(([file, size]) => copied.get(file) !== size)
      const tooMuch = await tooLarge(options, sum(open.map(([, size]) => size)), sum([...others.values()]))
      if (tooMuch !== undefined) return tooMuch
      const changed = open.map(([file]) => file)
      const checksums = await readChecksums(source)
      const copy = (file: string): Promise<void> =>
        copyFile(to, within(source, file), join(target, file), checksums.get(pathInTable(target, join(target, file))))
      await eachOf(changed, AT_ONCE, copy)
      await eachOf(fresh, AT_ONCE, copy)
      const present = new Set([...others.keys(), ...manifests])
      for (const file of copied.keys()) {
        const path = join(target, file)
        if (present.has(file)) gone.delete(path)
        else if (!gone.has(path)) gone.set(path, performance.now())
      }
      return undefined
    },

    /** Removes copies of other tables. @param prefix of the names that go */
    removeOthers: async (storedAs: string, prefix: string): Promise<void> => {
      for (const name of await readdir(to)) {
        if (name.startsWith(prefix) && name.endsWith('.lance') && name !== `${storedAs}.lance`) {
          await rm(join(to, name), { recursive: true, force: true })
        }
      }
    },
  }
}

export type TableCopies = Awaited<ReturnType<typeof openTableCopies>>

/** True if the newest version is copied, as far as one listing shows. */
async function hasNewest(source: string, copied: ReadonlyMap<string, number>): Promise<boolean> {
  for await (const { name } of storeOf(source).files.walk(within(source, VERSIONS), 1))
    return isManifest(name) && copied.has(join(VERSIONS, name))
  return false
}
