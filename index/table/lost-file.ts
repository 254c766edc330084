import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { filesUnder } from '../../base/files-under.ts'
import { lanceText, type Table } from './lance.ts'

/** Folders of a stored table whose files are never empty, beside its versions. */
const FOLDERS = ['data', '_deletions', '_indices']
/** What LanceDB says of a file that is empty and should not be, by how it reads it. */
const OF_EMPTY = /of size 0 bytes|fill whole buffer|invalid seek/

/**
 * A file of which nothing reached the disk and that the table's version cannot do without. Empty files that no version names stay
 * until they are cleaned away; while there are any, the ids and indexes of the table are read to tell.
 * @returns its path, or that of one of several; undefined where the table can be read
 */
export async function lostFile(table: Table, folder: string): Promise<string | undefined> {
  const [empty] = await emptyFiles(folder)
  return empty === undefined || (await isReadable(table)) ? undefined : empty
}

async function emptyFiles(folder: string): Promise<string[]> {
  const files = (await Promise.all(FOLDERS.map((name) => filesUnder(join(folder, name))))).flat()
  // One that others remove meanwhile is not empty.
  const sizes = await Promise.all(
    files.map((file) =>
      stat(file).then(
        ({ size }) => size,
        () => undefined,
      ),
    ),
  )
  return files.filter((_, i) => sizes[i] === 0)
}

async function isReadable(table: Table): Promise<boolean> {
  try {
    // A file without its end gives no column at all, and every file of rows holds ids.
    for await (const batch of table.query().select(['id'])) void batch
    for (const { name } of await table.listIndices()) await table.prewarmIndex(name)
    return true
  } catch (error) {
    return !OF_EMPTY.test(lanceText(error))
  }
}
