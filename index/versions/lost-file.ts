import { isBrokenFile } from '../../base/failures.ts'
import { join } from 'node:path'
import { filesUnder } from '../../base/files-under.ts'
import { type Table } from '../table/lance.ts'
import { isWhole } from './whole-file.ts'

/** Folders of a stored table that hold its files, beside its versions. */
const FOLDERS = ['data', '_deletions', '_indices']
/**
 * A file that did not reach the disk whole and that the table's version cannot do without. Such files that no version names stay
 * until they are cleaned away, and another process may be writing one; while there are any, the ids and indexes of the table are read to tell.
 * @returns its path, or that of one of several; undefined where the table can be read
 */
export async function lostFile(table: Table, folder: string): Promise<string | undefined> {
  const broken = await brokenFile(folder)
  return broken === undefined || (await isReadable(table)) ? undefined : broken
}

async function brokenFile(folder: string): Promise<string | undefined> {
  for (const name of FOLDERS) for (const file of await filesUnder(join(folder, name))) if (!(await isWhole(file))) return file
  return undefined
}

async function isReadable(table: Table): Promise<boolean> {
  try {
    // A file without its end gives no column at all, and every file of rows holds ids.
    for await (const batch of table.query().select(['id'])) void batch
    for (const { name } of await table.listIndices()) await table.prewarmIndex(name)
    return true
  } catch (error) {
    return !isBrokenFile(error)
  }
}
