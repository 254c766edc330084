import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { CodedError, osCode } from '../../base/errors.ts'
import { filesUnder } from '../../base/files-under.ts'
import { storeOf } from '../store/store-of.ts'
import { Checksums, isChecked, pathInTable, readChecksums, sha256Of } from '../table/checksums.ts'

/** SHA-256 of files by device and inode: tables share files with snapshots, and each is read once. */
export type CheckedFiles = Map<string, string>

export interface Checked {
  /** Number of unchanged files. */
  readonly sound: number
  readonly bytes: number
  /** Files without a checksum: written by software that recorded none, or by a killed process. */
  readonly unknown: readonly string[]
  /** Changed files, by path in the table. */
  readonly damaged: readonly string[]
}

/**
 * Reads every file of a stored table and compares it with its checksum. A table in an object store has none: the store verifies its own.
 * @param onBytes called with the bytes read and the total
 */
export async function checkFiles(
  folder: string,
  checked: CheckedFiles = new Map(),
  onBytes: (done: number, total: number) => void = () => undefined,
): Promise<Checked> {
  if (storeOf(folder).durable) return { sound: 0, bytes: 0, unknown: [], damaged: [] }
  const [recorded, files] = [await readChecksums(folder), await present(folder)]
  const total = files.reduce((sum, { size }) => sum + size, 0)
  const [unknown, damaged]: [string[], string[]] = [[], []]
  let [sound, bytes] = [0, 0]
  for (const { path, size, key } of files) {
    const file = pathInTable(folder, path)
    const sums = recorded.get(file)
    if (sums === undefined) unknown.push(path)
    else {
      const sha256 = checked.get(key) ?? (await sha256Of(path).catch(ifGone))
      if (sha256 !== undefined) {
        checked.set(key, sha256)
        if (sums.has(sha256)) sound++
        else damaged.push(file)
      }
    }
    bytes += size
    onBytes(bytes, total)
  }
  return { sound, bytes, unknown, damaged }
}

interface Present {
  readonly path: string
  readonly size: number
  readonly key: string
}

async function present(folder: string): Promise<Present[]> {
  const found: Present[] = []
  for (const path of await filesUnder(folder)) {
    const status = isChecked(pathInTable(folder, path)) ? await stat(path).catch(ifGone) : undefined
    if (status !== undefined) found.push({ path, size: status.size, key: `${status.dev} ${status.ino}` })
  }
  return found
}

/** Path of a changed file in a stored table; undefined if none is. */
export async function damagedFile(folder: string, checked: CheckedFiles): Promise<string | undefined> {
  return (await checkFiles(folder, checked)).damaged[0]
}

/**
 * @param what the table, for the message
 * @param soundSnapshot finds the newest intact snapshot
 * @throws index_invalid naming a file that has changed since it was committed
 */
export async function requireSound(
  folder: string,
  what: string,
  soundSnapshot: (checked: CheckedFiles) => Promise<string | undefined>,
): Promise<void> {
  const checked: CheckedFiles = new Map()
  const damaged = await damagedFile(folder, checked)
  if (damaged !== undefined) throw damage(folder, what, damaged, await soundSnapshot(checked))
}

/** Error for a changed file, naming the snapshot to restore. */
export function damage(folder: string, what: string, file: string, snapshot: string | undefined): CodedError {
  const remedy =
    snapshot === undefined
      ? 'No snapshot of the table is intact: restore it from a backup, or index the corpus again.'
      : `The last intact snapshot is "${snapshot}": cepe index snapshot restore ${snapshot}.`
  return new CodedError('index_invalid', `${join(folder, file)} of ${what} has changed since it was committed (SHA-256). ${remedy}`, {
    field: file,
  })
}

/** Records checksums of files without one, from their present content. */
export async function recordUnknown(folder: string, files: readonly string[]): Promise<void> {
  const checksums = new Checksums(folder)
  await checksums.add(files)
  await checksums.settled()
}

function ifGone(error: unknown): undefined {
  if (osCode(error) !== 'ENOENT') throw error
  return undefined
}
