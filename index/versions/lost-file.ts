import { isBrokenFile } from '../../base/failures.ts'
import { join } from 'node:path'
import { filesUnder } from '../../base/files-under.ts'
import { type Table } from '../table/lance.ts'
import { isWhole } from './whole-file.ts'

/** Folders of a stored table with data files. */
const FOLDERS = ['data', '_deletions', '_indices']
/**
 * Finds a file that did not reach the disk completely and that the table's version needs. Incomplete files without a reference stay until
 * clean-up, and another process may be writing one; if there are any, ids and indexes of the table are read to decide.
 * @returns its path, or that of one of several; undefined if the table is readable
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
    // A truncated file yields no column at all, and every data file has ids.
    for await (const batch of table.query().select(['id'])) void batch
    for (const { name } of await table.listIndices()) await table.prewarmIndex(name)
    return true
  } catch (error) {
    return !isBrokenFile(error)
  }
}
