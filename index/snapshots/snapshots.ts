import { randomUUID } from 'node:crypto'
import { Value } from 'typebox/value'
import { CodedError, conflict, explainedBy, invalidIndex, invalidRequest, notFound } from '../../base/errors.ts'
import { failureOf } from '../../base/failures.ts'
import { parseJson } from '../../base/json.ts'
import type { TableLocation } from '../contract.ts'
import { type ListedSnapshot, SnapshotSchema, type Snapshot } from '../snapshot-schema.ts'
import { bytesUnder, storeOf, within } from '../store/store-of.ts'
import { checkFolder, storedNameOf, SNAPSHOT_RECORD, SNAPSHOT_TABLE, snapshotsFolder, tableFolder } from '../versions/alias.ts'
import { Checksums } from '../table/checksums.ts'
import { connectLance } from '../table/lance.ts'
import { withLock, withWriterLock } from '../writers/locks.ts'
import { readMetadata } from '../table/metadata.ts'
import { pinForReading } from '../versions/read-pins.ts'
import { requireWhole, snapshotNames } from '../versions/recover.ts'
import { cloneTable, type ReplaceOptions, replaceWith } from './replace.ts'
import { countedRows, requireUnchanged } from './verify.ts'

const WAIT_MS = 60_000

function snapshotFolder(options: TableLocation, name: string): string {
  if (!/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/.test(name))
    throw invalidRequest('name', `"${name.slice(0, 80)}" is not a valid snapshot name: use 1 to 64 letters, digits, "-" and "_".`)
  return within(snapshotsFolder(options), name)
}

function recordOf(folder: string): string {
  return within(folder, SNAPSHOT_RECORD)
}

/**
 * Creates a snapshot of the table. Its files are shared with the live table, so it takes space only as the live table changes; in an object
 * store they are copied within the store.
 * @throws conflict if the name exists; index_missing, disk_full
 * @example
 * ```ts
 * import { createSnapshot } from './index/snapshots/snapshots.ts'
 *
 * await createSnapshot('before-upgrade', { dir: 'index/data', table: 'passages' })
 * ```
 */
export async function createSnapshot(name: string, options: TableLocation): Promise<Snapshot> {
  const folder = snapshotFolder(options, name)
  const { dir, table } = options
  const { files, renames } = storeOf(dir)
  return alone(options, async (aside) => {
    if ((await files.list(snapshotsFolder(options))).includes(name))
      throw conflict('name', `There is a snapshot "${name}" already: choose another name, or delete it first.`)
    // Without atomic renames, the record, written last, marks the snapshot as complete.
    const making = renames ? aside(name) : folder
    const take = async (): Promise<void> => {
      const storedAs = await storedNameOf(options)
      await requireWhole(dir, storedAs)
      await using _pin = await pinForReading({ dir, storedAs })
      await cloneTable(tableFolder(dir, storedAs), tableFolder(making, SNAPSHOT_TABLE))
    }
    // Copies may take longer than the writer lock may be held; other processes keep the files for some time (CEPE_KEEP_VERSIONS_MIN).
    await (renames ? withWriterLock({ dir, table }, take) : take())
    const snapshot = { name, table, created_at: new Date().toISOString(), ...(await lookedThrough(making)) }
    await files.write(recordOf(making), `${JSON.stringify(snapshot)}\n`)
    if (making !== folder) await files.rename(making, folder)
    return snapshot
    // Another process may have removed the table.
  }).catch(explainedBy(() => storedNameOf(options)))
}

/** All snapshots of a table: those that cannot be described, then the others, oldest first. */
export async function listSnapshots(options: TableLocation): Promise<ListedSnapshot[]> {
  const found: ListedSnapshot[] = []
  for (const name of await snapshotNames(options)) {
    const bytes = await bytesUnder(snapshotFolder(options, name), ({ shared }) => !shared)
    const described = describedSnapshot(name, options).then((snapshot) => ({ ...snapshot, problem: undefined }))
    const listed = await described.catch(async (error: unknown) => {
      if (!(await snapshotNames(options)).includes(name)) return undefined
      if (!(error instanceof CodedError) || error.code !== 'index_invalid') throw error
      return { name, created_at: null, rows: null, model: null, problem: error }
    })
    if (listed !== undefined) found.push({ ...listed, bytes })
  }
  return found.sort((a, b) => ((a.created_at ?? '') < (b.created_at ?? '') ? -1 : 1))
}

/**
 * Restores a snapshot in place of the present table. The snapshot is kept.
 * @returns the number of passages now live
 * @throws not_found; index_invalid if a file of it has changed since it was committed; as `replaceWith`
 */
export function restoreSnapshot(name: string, options: ReplaceOptions): Promise<number> {
  return withSnapshot(name, options, async (snapshot) => {
    await recorded(name, options)
    const stored = tableFolder(snapshot, SNAPSHOT_TABLE)
    await requireUnchanged(stored, `the snapshot "${name}"`, options)
    return replaceWith((folder) => cloneTable(stored, folder), options)
  })
}

/**
 * Verifies the live table: every file unchanged, no row missing, no duplicate id. Unless `readOnly`, records checksums for files without
 * one, so that later changes are detected.
 * @returns `recorded`: number of files that had no checksum and have one now; `unrecorded`: those left without
 * @throws index_missing; index_invalid naming the damage and the last intact snapshot
 */
export async function verifyIndex(options: TableLocation, onBytes?: (done: number, total: number) => void, readOnly = false) {
  const { dir, table } = options
  const storedAs = await storedNameOf(options)
  const folder = tableFolder(dir, storedAs)
  await using _pin = await pinForReading({ dir, storedAs })
  using connection = await connectLance(dir, 0)
  const { sound, bytes, unknown } = await requireUnchanged(folder, `the table "${table}"`, options, onBytes)
  const passages = await countedRows(await connection.openTable(storedAs))
  const checksums = new Checksums(folder)
  const isRecorded = !readOnly && (await checksums.add(unknown))
  await checksums.settled()
  return { passages, files: sound, bytes, recorded: isRecorded ? unknown.length : 0, unrecorded: isRecorded ? 0 : unknown.length }
}

/** @throws not_found */
export function deleteSnapshot(name: string, options: TableLocation): Promise<void> {
  return withSnapshot(name, options, (folder) =>
    alone(options, async (aside) => {
      const { files, renames } = storeOf(options.dir)
      const going = renames ? aside(name) : folder
      await (renames ? files.rename(folder, going) : files.remove(recordOf(folder)))
      await files.removeTree(going)
    }),
  )
}

/** Runs work on the folder of a snapshot. @throws not_found, also where another process deletes the snapshot in that time */
async function withSnapshot<T>(name: string, options: TableLocation, work: (folder: string) => Promise<T>): Promise<T> {
  const folder = snapshotFolder(options, name)
  const require = async (): Promise<void> => {
    if (!(await snapshotNames(options)).includes(name))
      throw notFound('name', `There is no snapshot "${name}": cepe index snapshot list --collection ${options.table} lists them.`)
  }
  await require()
  return work(folder).catch(explainedBy(require))
}

/** The record of a snapshot; undefined if it is lost or damaged, or that of another one. @throws index_invalid for one of another collection */
async function recorded(name: string, options: TableLocation): Promise<Snapshot | undefined> {
  const { files, renames } = storeOf(options.dir)
  const file = recordOf(snapshotFolder(options, name))
  const record = files.read(file)
  const value = parseJson((await (renames ? record.catch(() => undefined) : record)) ?? '')
  if (!Value.Check(SnapshotSchema, value)) return undefined
  if (value.table === options.table) return value.name === name ? value : undefined
  const problem = `The snapshot "${name}" is recorded as one of the collection "${value.table}", not of "${options.table}"`
  throw invalidIndex('name', `${problem}: move it there (${value.table}.snapshots), or, if only its record was copied, remove ${file}.`)
}

/** The record of a snapshot; without it, what its table shows. @throws index_invalid if that is damaged too */
async function describedSnapshot(name: string, options: TableLocation): Promise<Snapshot> {
  const known = await recorded(name, options)
  if (known !== undefined) return known
  const { files } = storeOf(options.dir)
  const folder = snapshotFolder(options, name)
  const message = `The snapshot "${name}" is damaged, its record and its table: delete it (cepe index snapshot delete ${name} --collection ${options.table}).`
  const age = await files.age(tableFolder(folder, SNAPSHOT_TABLE))
  // LanceDB would make the folder of a deleted snapshot again.
  if (age === Infinity) throw invalidIndex('name', message)
  const seen = await lookedThrough(folder).catch((error: unknown) => {
    const failure = failureOf(error)
    throw failure === undefined || failure.code === 'index_invalid' ? invalidIndex('name', message, error) : failure
  })
  return { name, table: options.table, created_at: new Date(Date.now() - age).toISOString(), ...seen }
}

/** Creates and deletes snapshots one at a time. First removes leftovers of killed processes. */
async function alone<T>(options: TableLocation, work: (aside: (name: string) => string) => Promise<T>): Promise<T> {
  const folder = snapshotsFolder(options)
  const { files, renames } = storeOf(folder)
  await checkFolder(options.dir)
  await files.makeFolder(folder)
  return withLock(within(folder, '.lock'), { waitMs: WAIT_MS }, async () => {
    const removeLeftovers = async (): Promise<void> => {
      for (const name of await files.list(folder)) {
        const path = within(folder, name)
        const cutOff = !renames && !name.startsWith('.') && (await files.read(recordOf(path))) === undefined
        if (cutOff || name.endsWith('.aside')) await files.removeTree(path)
      }
    }
    await removeLeftovers()
    try {
      return await work((name) => within(folder, `.${name}.${randomUUID().slice(0, 8)}.aside`))
    } finally {
      await removeLeftovers()
    }
  })
}

async function lookedThrough(folder: string): Promise<Pick<Snapshot, 'rows' | 'model'>> {
  using connection = await connectLance(folder, 0)
  const table = await connection.openTable(SNAPSHOT_TABLE)
  return { rows: await countedRows(table), model: (await readMetadata(table)).model }
}
