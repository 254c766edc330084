import { readAlias, tableFolder, tableOf, type Alias } from '../versions/alias.ts'
import { storeOf } from '../store/store-of.ts'
import { CodedError } from '../../base/errors.ts'
import type { Connection, Table } from '../table/lance.ts'
import { compatibleMetadata, isOfModel, incompatibility } from '../versions/compatibility.ts'
import { readMetadata } from '../table/metadata.ts'
import { createTable } from '../table/create.ts'
import { readWordIndex } from '../table/words.ts'
import { migrateTable } from '../table/migrate.ts'
import { hasVersion, openStored } from '../versions/recover.ts'
import { stringAt } from '../table/rows.ts'
import type { EmbeddingModel } from '../contract.ts'
import type { WordLanguage } from '../word-languages.ts'
import type { JobRun } from './job-run.ts'
import type { Target } from './journal.ts'

/**
 * True if a chosen target no longer applies because another job created or replaced the live table. A table created by an upsert while a
 * first job was building does not count: the job copies its passages.
 */
export async function targetIsStale(
  { dir, replace }: Pick<JobRun, 'dir' | 'replace'>,
  { connection, target, alias, later: changeLog }: Pick<JobRun, 'connection' | 'later'> & { target: Target; alias: Alias | undefined },
): Promise<boolean> {
  if (!target.isOwn) return alias?.stored_as !== target.storedAs
  if (replace || alias === undefined) return false
  const live = await openStored(connection, dir, alias.stored_as)
  try {
    for await (const batch of live.query().select(['id'])) {
      for (let row = 0; row < batch.numRows; row++) if (!changeLog.ids.has(stringAt(batch, 'id', row))) return true
    }
    return false
  } finally {
    live.close()
  }
}

/** Where and for which model a job opens tables. */
type Opening = Pick<JobRun, 'connection' | 'dir' | 'model' | 'onWarning'>

/** Opens a job's own table: the one it started, or a new one if there is none, its creation was interrupted, or the model has changed. */
export async function openOwnTable({ connection, dir, model, onWarning }: Opening, storedAs: string): Promise<Table> {
  if ((await connection.tableNames()).includes(storedAs)) {
    const folder = tableFolder(dir, storedAs)
    // A table whose creation or removal was interrupted has none.
    const table = (await hasVersion(folder)) ? await openStored(connection, dir, storedAs, { onWarning, unused: true }) : undefined
    if (table !== undefined && (await isUsable(table, model))) return table
    table?.close()
    await storeOf(folder).files.removeTree(folder)
  }
  return createTable(connection, storedAs, model, await chosenLanguage(connection, dir, storedAs))
}

/** The language that was chosen for the words of the table that is replaced; undefined too if that table is damaged. */
async function chosenLanguage(connection: Connection, dir: string, storedAs: string): Promise<WordLanguage | undefined> {
  const live = await readAlias({ dir, table: tableOf(storedAs) })
  const table = live && (await openUnlessDamaged(connection, dir, live.stored_as))
  return table && (await readWordIndex(table).finally(() => table.close())).chosen
}

/** A table with rows was created completely; it may have an earlier schema if this software was updated since. */
async function isUsable(table: Table, model: EmbeddingModel): Promise<boolean> {
  try {
    if ((await table.countRows()) > 0) await migrateTable(table)
    return incompatibility(table.storedAs, await readMetadata(table), { model }) === undefined
  } catch (error) {
    if (error instanceof CodedError) return false
    throw error
  }
}

/** Opens a table whose vectors are of this model. @throws index_invalid for another model or schema. */
export async function openLiveTarget({ connection, dir, model, onWarning }: Opening, storedAs: string): Promise<Table> {
  const table = await openStored(connection, dir, storedAs, { onWarning })
  const found = await compatibleMetadata(tableOf(storedAs), table, { model })
  if (!(found instanceof CodedError)) return table
  table.close()
  throw found
}

/** Opens the live table if its vectors can be reused; a damaged one is replaced without. */
export async function openPrevious(run: JobRun): Promise<Table | undefined> {
  const { connection, dir, model, onWarning } = run
  const alias = await readAlias(run)
  if (alias === undefined) return undefined
  const table = await openUnlessDamaged(connection, dir, alias.stored_as, onWarning)
  if (table === undefined) return undefined
  if (isOfModel(await readMetadata(table), model)) return table
  table.close()
  return undefined
}

/** As `openStored`; undefined for a damaged table, after `onWarning`. */
async function openUnlessDamaged(
  connection: Connection,
  dir: string,
  storedAs: string,
  onWarning?: (message: string) => void,
): Promise<Table | undefined> {
  try {
    return await openStored(connection, dir, storedAs, { onWarning })
  } catch (error) {
    if (!(error instanceof CodedError && error.code === 'index_invalid')) throw error
    onWarning?.(error.message)
    return undefined
  }
}
