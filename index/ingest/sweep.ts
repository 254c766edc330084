import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { aliasPath, readAlias, storedName, tableFolder } from '../table/alias.ts'
import { unwatchChanges, watchingJobs } from '../table/changes.ts'
import { osCode } from '../../base/errors.ts'

/** What is younger may belong to someone who is just making it. */
const YOUNG_MS = 60_000
/** By then every process has looked at the alias many times, opened what it points at now, and ended what it began before. */
const RETIRE_MS = 60_000

async function list(folder: string): Promise<string[]> {
  try {
    return await readdir(folder)
  } catch (error) {
    if (osCode(error) === 'ENOENT') return []
    throw error
  }
}

async function ageOf(path: string): Promise<number> {
  try {
    return Date.now() - (await stat(path)).mtimeMs
  } catch (error) {
    if (osCode(error) === 'ENOENT') return Infinity
    throw error
  }
}

/**
 * Removes what killed writers left behind and what was replaced: LanceDB's and our own temporary files, and stored tables
 * and notes of `table` that neither the alias nor an unfinished job refers to. Only for the holder of the writer lock.
 * @param unfinishedJobs ids of the jobs that may go on, those whose record cannot be read among them.
 * @returns the paths removed, and whether something is left that is to go a minute later.
 */
export async function sweep(
  dir: string,
  table: string,
  unfinishedJobs: () => Promise<ReadonlySet<string>>,
): Promise<{ removed: string[]; left: boolean }> {
  // In this order: a job has its record before changes are noted for it.
  const watched = await watchingJobs(dir, table)
  const unfinished = await unfinishedJobs()
  const removed: string[] = []
  let left = false
  const drop = async (path: string): Promise<void> => {
    if ((await ageOf(path)) < YOUNG_MS) {
      left = true
      return
    }
    await rm(path, { recursive: true, force: true })
    removed.push(path)
  }
  const alias = await readAlias(dir, table)
  const retiring = (await ageOf(aliasPath(dir, table))) < RETIRE_MS
  const keep = new Set([...unfinished].map((id) => storedName(table, id)))
  for (const name of await list(dir)) {
    const path = join(dir, name)
    if (name.startsWith(`${table}.alias.json.`)) await drop(path)
    if (!name.startsWith(`${table}.`) || !name.endsWith('.lance')) continue
    const storedAs = name.slice(0, -'.lance'.length)
    if (storedAs === alias?.stored_as || keep.has(storedAs)) continue
    if (retiring) left = true
    else await drop(path)
  }
  for (const storedAs of [...keep, ...(typeof alias?.stored_as === 'string' ? [alias.stored_as] : [])]) {
    const data = join(tableFolder(dir, storedAs), 'data')
    for (const name of (await list(data)).filter((file) => file.startsWith('.tmp'))) await drop(join(data, name))
  }
  for (const job of watched) if (!unfinished.has(job)) await unwatchChanges(dir, table, job)
  return { removed, left }
}
