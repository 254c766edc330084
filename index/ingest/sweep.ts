import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { readAlias, tableFolder } from '../table/alias.ts'
import { osCode } from '../../base/errors.ts'

/** Tables that are being made by an upsert at this moment have no alias yet. */
const YOUNG_MS = 60_000

async function list(folder: string): Promise<string[]> {
  try {
    return await readdir(folder)
  } catch (error) {
    if (osCode(error) === 'ENOENT') return []
    throw error
  }
}

/**
 * Removes what killed writers left behind: LanceDB's and our own temporary files, and stored tables of `table` that neither
 * the alias nor an unfinished job refers to. Only for the holder of the writer lock.
 * @param keep stored names of unfinished jobs' tables.
 * @returns the paths removed.
 */
export async function sweep(dir: string, table: string, keep: ReadonlySet<string>): Promise<string[]> {
  const removed: string[] = []
  const drop = async (path: string): Promise<void> => {
    if (Date.now() - (await stat(path)).mtimeMs < YOUNG_MS) return
    await rm(path, { recursive: true, force: true })
    removed.push(path)
  }
  const alias = await readAlias(dir, table)
  for (const name of await list(dir)) {
    const path = join(dir, name)
    if (name.startsWith(`${table}.alias.json.`)) await drop(path)
    if (!name.startsWith(`${table}.`) || !name.endsWith('.lance')) continue
    const storedAs = name.slice(0, -'.lance'.length)
    if (storedAs !== alias?.stored_as && !keep.has(storedAs)) await drop(path)
  }
  for (const storedAs of [...keep, ...(typeof alias?.stored_as === 'string' ? [alias.stored_as] : [])]) {
    const data = join(tableFolder(dir, storedAs), 'data')
    for (const name of (await list(data)).filter((file) => file.startsWith('.tmp'))) await drop(join(data, name))
  }
  return removed
}
