import { rename } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { makeFolder, syncPath } from '../../base/durable.ts'
import type { TableLocation } from '../contract.ts'
import { type CodedError, invalidIndex, messageOf } from '../../base/errors.ts'
import { orAbsent } from '../../base/exists.ts'
import { failureOf, lanceText } from '../../base/failures.ts'
import { storeOf, within } from '../store/store-of.ts'
import { CHECKSUMS, readChecksums, type Recorded } from '../table/checksums.ts'
import { PASSAGE_COLUMNS } from '../table/rows.ts'
import { connectForWriting, type Connection, type Table, writing } from '../table/lance.ts'
import { manifestFiles, namedFiles, newestVersion, VERSIONS, versionsOf } from '../table/manifest.ts'
import { TableSync } from '../table/table-sync.ts'
import { SNAPSHOT_RECORD, SNAPSHOT_TABLE, snapshotsFolder, storedNameOf, tableFolder, tableOf } from './alias.ts'

const ROWS_AT_ONCE = 4096

/**
 * Reads the last rows of a job's own table, which may not be durable: after a power loss a manifest can be complete and its data not, and
 * every later read would fail. Then rolls the table back to the version before them. Does nothing if the store is durable.
 * @param durable number of rows before those
 * @returns the problem, if the table was rolled back
 * @throws the read error, if no such version is left
 */
export async function rollbackUnreadable(table: Table, durable: number): Promise<unknown> {
  const error = storeOf(table.dir).durable ? undefined : await unreadableFrom(table, durable)
  if (error === undefined) return undefined
  const versions = (await versionsOf(table)).map(({ version }) => version).sort((a, b) => b - a)
  for (const version of versions) {
    await table.checkout(version)
    if ((await table.countRows()) !== durable) continue
    await writing(table, () => table.restore())
    return error
  }
  await table.checkoutLatest()
  throw error instanceof Error ? error : new Error(messageOf(error))
}

/** Returns the error of reading all columns of the rows from `first` on. */
async function unreadableFrom(table: Table, first: number): Promise<unknown> {
  const rows = await table.countRows()
  for (let from = first; from < rows; from += ROWS_AT_ONCE) {
    const offsets = Array.from({ length: Math.min(ROWS_AT_ONCE, rows - from) }, (_, i) => from + i)
    try {
      await table
        .takeOffsets(offsets)
        .select([...PASSAGE_COLUMNS, 'vector'])
        .toArrow()
    } catch (error) {
      return error
    }
  }
  return undefined
}

const QUARANTINE = '_quarantine'

interface OpenOptions {
  /** Called after a rollback. Without it the table is only read. */
  readonly onWarning?: ((message: string) => void) | undefined
  /** A job is building the table, and writes again what is rolled back. */
  readonly unused?: boolean
}

/**
 * Opens a stored table. After a power loss, files of the newest version can be missing, empty, truncated or full of zeros. If that version
 * was not acknowledged, its manifest is moved to `_quarantine`, the version before it is live, and `onWarning` is called. An acknowledged
 * version is never rolled back. A durable store is left unchanged.
 * @throws index_invalid naming the damage and the last intact snapshot; store_unavailable
 */
export async function openStored(
  connection: Connection,
  storedAs: string,
  { onWarning, unused = false }: OpenOptions = {},
): Promise<Table> {
  const { dir } = connection
  const folder = tableFolder(dir, storedAs)
  while (!storeOf(dir).durable) {
    const recorded = await readChecksums(folder)
    const newest = await newestVersion(folder, recorded)
    const [lost] = newest.broken
    if (lost === undefined) break
    // A checksum shows that the version is durable: its damage is no trace of a power loss.
    const isAcknowledged = [newest.manifest, ...newest.broken].some((file) => recorded.has(file))
    if (newest.older === undefined || (isAcknowledged && !unused)) throw await damageTo(dir, storedAs, lost)
    const message = `${lost} of ${storedAs} is incomplete, as after a power loss: start the service that writes the index, which rolls back to the version before.`
    if (onWarning === undefined) throw invalidIndex(lost, message)
    await putAside(folder, newest.manifest)
    // They name versions that are written again.
    if (unused) await storeOf(dir).files.removeTree(join(folder, CHECKSUMS))
    onWarning(
      `The newest version of ${storedAs} needed ${lost}, which is incomplete, as after a power loss; it was not acknowledged. Its manifest was moved to ${basename(folder)}/${QUARANTINE}; the version before it is live. Jobs that were not finished are checked against it and resume.`,
    )
  }
  try {
    return await connection.openTable(storedAs)
  } catch (error) {
    const failure = failureOf(error)
    if (failure !== undefined && failure.code !== 'index_invalid') throw failure
    throw (
      (await damageOf(dir, storedAs)) ??
      invalidIndex(
        storedAs,
        `The table ${storedAs} in ${dir} cannot be opened: ${lanceText(error)}. Check the cause and the folder's permissions; if newer software wrote it, update this software; otherwise restore the folder from a backup.`,
        error,
      )
    )
  }
}

/** Runs work on the live table in a process that does not serve it; durable when it resolves. @throws index_missing, index_invalid */
export async function withLive<T>(
  location: TableLocation,
  work: (table: Table, sync: TableSync) => Promise<T>,
  onWarning?: (message: string) => void,
): Promise<T> {
  const { dir } = location
  const storedAs = await storedNameOf(location)
  const sync = await TableSync.start(tableFolder(dir, storedAs))
  using connection = await connectForWriting(dir)
  const result = await work(await openStored(connection, storedAs, { onWarning }), sync)
  await sync.flush()
  return result
}

/**
 * The error for a stored table whose newest version has a missing or incomplete file; undefined if it has none.
 * @param recorded the table's checksums, to find manifests that have changed or are missing
 */
export async function damageOf(dir: string, storedAs: string, recorded?: Recorded): Promise<CodedError | undefined> {
  const [lost] = (await newestVersion(tableFolder(dir, storedAs), recorded)).broken
  return lost === undefined ? undefined : damageTo(dir, storedAs, lost)
}

/** @throws index_invalid for a table with a missing or incomplete file */
export async function requireWhole(dir: string, storedAs: string): Promise<void> {
  const damaged = await damageOf(dir, storedAs, await readChecksums(tableFolder(dir, storedAs)))
  if (damaged !== undefined) throw damaged
}

async function damageTo(dir: string, storedAs: string, file: string): Promise<CodedError> {
  const table = tableOf(storedAs)
  const snapshot = await soundSnapshot({ dir, table })
  // Maybe not the table, but the alias is damaged.
  const what =
    file === VERSIONS
      ? `${storedAs}.lance (named by an alias: correct that file if another folder of the table has its passages)`
      : `the table "${table}"`
  return damage(what, { file, problem: LOST }, snapshot, table)
}

export const LOST = 'is missing, incomplete or changed'
export const CHANGED = 'has changed since it was committed (SHA-256)'

/** A damaged file, by its path in the table. */
export interface Damage {
  readonly file: string
  readonly problem: typeof LOST | typeof CHANGED
}

/** Error for a damaged file. @param what the table or snapshot @param snapshot name of the snapshot of `table` to restore */
export function damage(what: string, { file, problem }: Damage, snapshot: string | undefined, table: string): CodedError {
  const remedy =
    snapshot === undefined
      ? 'No snapshot of the table is intact: restore it from a backup, or index the corpus again.'
      : `The last intact snapshot is "${snapshot}": cepe index snapshot restore ${snapshot} --collection ${table}.`
  return invalidIndex(file, `${file} of ${what} ${problem}. ${remedy}`)
}

/** Names of a table's complete snapshots, newest first. Where folders are renamed, one without its record has lost that. */
export async function snapshotNames(location: TableLocation): Promise<string[]> {
  const [{ files, renames }, folder] = [storeOf(location.dir), snapshotsFolder(location)]
  const names = (await files.list(folder)).filter((name) => !name.startsWith('.'))
  const ageOf = async (name: string): Promise<number> => {
    const age = files.age(within(folder, name, SNAPSHOT_RECORD))
    return renames ? age.catch(() => Infinity) : age
  }
  const aged = await Promise.all(names.map(async (name) => ({ name, age: await ageOf(name) })))
  const complete = renames ? aged : aged.filter(({ age }) => age < Infinity)
  return complete.sort((a, b) => (a.age < b.age ? -1 : 1)).map(({ name }) => name)
}

/** The newest snapshot of a table without broken files. @param brokenIn finds them in the folder of its table. Default: by size and ending */
export async function soundSnapshot(
  location: TableLocation,
  brokenIn = async (stored: string): Promise<readonly unknown[]> => (await newestVersion(stored, await readChecksums(stored))).broken,
): Promise<string | undefined> {
  const folder = snapshotsFolder(location)
  for (const name of await snapshotNames(location))
    if ((await brokenIn(tableFolder(within(folder, name), SNAPSHOT_TABLE))).length === 0) return name
  return undefined
}

/** When a stored table was last rolled back; undefined if it never was. */
export async function rolledBackAt(dir: string, storedAs: string): Promise<Date | undefined> {
  const ageMs = storeOf(dir).durable ? Infinity : await storeOf(dir).files.age(join(tableFolder(dir, storedAs), QUARANTINE))
  return ageMs === Infinity ? undefined : new Date(Date.now() - ageMs)
}

/** True if a stored table has a version that could be opened or restored. */
export async function hasVersion(folder: string): Promise<boolean> {
  for (const name of await manifestFiles(folder)) if ((await namedFiles(folder, name)) !== undefined) return true
  return false
}

/** Quarantines a manifest, durably. */
async function putAside(folder: string, manifest: string): Promise<void> {
  const quarantine = join(folder, QUARANTINE)
  await makeFolder(quarantine)
  // Absent if another process rolled back first.
  await orAbsent(rename(join(folder, manifest), join(quarantine, basename(manifest))))
  for (const path of [quarantine, join(folder, VERSIONS), folder]) await syncPath(path)
}
