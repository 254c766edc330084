import { basename } from 'node:path'
import { at } from '../../base/at.ts'
import { CodedError, conflict, invalidRequest, osCode } from '../../base/errors.ts'
import { inFolder } from '../../base/failures.ts'
import { allModels, type Models, type TableLocation } from '../contract.ts'
import { eachOf } from '../store/each-of.ts'
import { storeOf, within } from '../store/store-of.ts'
import type { FileInfo } from '../store/store.ts'
import { CHECKSUMS } from '../table/checksums.ts'
import { connectForWriting, type Connection } from '../table/lance.ts'
import { manifestFiles, VERSIONS } from '../table/manifest.ts'
import { readMetadata } from '../table/metadata.ts'
import { TableSync } from '../table/table-sync.ts'
import { readAlias, storedName, storedNameOf, tableFolder, writeAlias } from '../versions/alias.ts'
import { fitModel, readableMetadata, relatedModel } from '../versions/compatibility.ts'
import { requireWhole } from '../versions/recover.ts'
import { watchingJobs } from '../writers/change-log.ts'
import { tryJobLock, withWriterLock } from '../writers/locks.ts'
import { countedRows } from './verify.ts'

/** Folders of immutable files: hard links to them are free. */
const WRITTEN_ONCE = ['data', '_deletions', '_indices', '_transactions']
const LEFT_OUT = [VERSIONS, '_quarantine', CHECKSUMS]
/** Files copied concurrently. */
const AT_ONCE = 16
/** Longer than the lease of a killed process, and than what a service does for a moment after a job. */
const WAIT_MS = 15_000

/**
 * Clones the newest version of a stored table: by hard links where possible, else by copies within the store. The tables are independent
 * from then on. The caller holds the writer lock; durable when it resolves. Compaction may run concurrently: files outlive it by far.
 * @param from,to folders of stored tables; `to` must not exist
 * @throws disk_full; conflict if the version was cleaned up in between
 */
export async function cloneTable(from: string, to: string): Promise<void> {
  const { files } = storeOf(from)
  // A file of an earlier version that disappears is not needed.
  const copy = async (file: FileInfo): Promise<void> => {
    const writtenOnce = WRITTEN_ONCE.includes(topOf(file))
    await files.copy(within(from, file.name), within(to, file.name), { bytes: file.bytes, writtenOnce })
  }
  try {
    // First: a checksum of a later manifest than the copied one would show that this is missing.
    for await (const { name, ...file } of files.walk(within(from, CHECKSUMS))) await copy({ ...file, name: `${CHECKSUMS}/${name}` })
    const newest = `${VERSIONS}/${(await manifestFiles(from))[0]}`
    const [manifest, others]: [FileInfo[], FileInfo[]] = [[], []]
    for await (const file of files.walk(from)) {
      if (file.name === newest) manifest.push(file)
      else if (!LEFT_OUT.includes(topOf(file)) && !basename(file.name).startsWith('.tmp')) others.push(file)
    }
    await eachOf(others, AT_ONCE, copy)
    await eachOf(manifest, AT_ONCE, copy)
  } catch (error) {
    // What is copied may be deleted as a whole.
    if (osCode(error) !== 'ENOENT') inFolder(to)(error)
  }
  if ((await manifestFiles(to)).length === 0) throw conflict(undefined, 'The version was removed while it was being copied. Try again.')
  await TableSync.ofCopy(to).flush()
}

function topOf({ name }: FileInfo): string {
  return at(name.split('/'), 0)
}

/** The models are those that can embed questions. */
export interface ReplaceOptions extends TableLocation, Models {}

/**
 * Replaces a live table with a copy of another stored table, as a replacing job does: the copy is made and verified while the present table
 * serves, then promoted atomically.
 * @param take makes the copy in the folder that it is given
 * @returns the number of passages now live
 * @throws conflict while a job of the table is unfinished; index_invalid for a table of newer software, or of a model that is neither
 * loaded nor the present table's
 */
export async function replaceWith(take: (folder: string) => Promise<void>, options: ReplaceOptions): Promise<number> {
  const { dir, table: name } = options
  const refuseBusy = async (): Promise<void> => {
    const jobs = await watchingJobs({ dir, table: name })
    if (jobs.length > 0) throw busy(name, jobs)
  }
  await refuseBusy()
  const lock = await tryJobLock(dir, WAIT_MS)
  if (lock === undefined) throw busy(name, [])
  const storedAs = storedName(name)
  const folder = tableFolder(dir, storedAs)
  try {
    await refuseBusy()
    await take(folder)
    const rows = await fitted(storedAs, options)
    await withWriterLock({ dir, table: name }, async () => {
      await refuseBusy()
      await writeAlias({ dir, table: name }, storedAs)
    })
    return rows
  } catch (error) {
    if ((await readAlias({ dir, table: name })) !== storedAs) await storeOf(folder).files.removeTree(folder)
    throw error
  } finally {
    await lock.release()
  }
}

/** Migrates a copy to the current schema and verifies it. @returns its rows */
async function fitted(storedAs: string, options: ReplaceOptions): Promise<number> {
  const { dir, table: name } = options
  using connection = await connectForWriting(dir)
  const table = await connection.openTable(storedAs)
  const metadata = await readableMetadata(name, table)
  const model = relatedModel(metadata, allModels(options)) ?? fitModel(name, metadata, options)
  // Replacing a table that cannot be searched here either loses nothing.
  if (model instanceof CodedError && (await presentModel(connection, options)) !== metadata.model) throw model
  const rows = await countedRows(table)
  await TableSync.ofCopy(tableFolder(dir, storedAs)).flush()
  return rows
}

/** Model of the present table's vectors; undefined if there is none, or it cannot be opened. */
async function presentModel(connection: Connection, options: ReplaceOptions): Promise<string | undefined> {
  const storedAs = await readAlias(options)
  if (storedAs === undefined) return undefined
  const metadata = await connection
    .openTable(storedAs)
    .then(readMetadata)
    .catch(() => undefined)
  return metadata?.model
}

/**
 * Replaces a table with the present content of another one. Both tables are independent from then on.
 * @param other name of a table in the same folder
 * @returns the number of passages now live
 * @throws index_missing if the other table does not exist; as `replaceWith`
 */
export async function switchTable(other: string, options: ReplaceOptions): Promise<number> {
  const { dir, table } = options
  if (other === table) throw invalidRequest('table', `"${other}" is the table itself: name another one.`)
  const storedAs = await storedNameOf({ dir, table: other })
  await requireWhole(dir, storedAs)
  // Real copies may take longer than the other table's writers would wait; the copied version outlives them.
  const take = (folder: string): Promise<void> => cloneTable(tableFolder(dir, storedAs), folder)
  return replaceWith((folder) => (storeOf(dir).renames ? withWriterLock({ dir, table: other }, () => take(folder)) : take(folder)), options)
}

function busy(table: string, jobs: readonly string[]): CodedError {
  const which =
    jobs.length === 0
      ? 'A job, a restore or a copy is running in this index'
      : `Jobs of the table "${table}" are still running (${jobs.slice(0, 5).join(', ')})`
  return conflict('table', `${which}: let it end, or cancel a job (cepe index cancel <job>), and try again.`)
}
