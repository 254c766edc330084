import { aliasAge, readAlias, storedName, storedTables, tableFolder } from '../versions/alias.ts'
import { unwatchChanges, watchingJobs } from '../writers/change-log.ts'
import { modelOf } from '../versions/compatibility.ts'
import { connectLance } from '../table/lance.ts'
import { readMetadata } from '../table/metadata.ts'
import { hasReadPins } from '../versions/read-pins.ts'
import { hasVersion, openStored } from '../versions/recover.ts'
import { bytesUnder, storeOf, within } from '../store/store-of.ts'
import type { EmbeddingModel, TableLocation } from '../contract.ts'

/** Younger entries may still be in use by their creator. */
const MIN_AGE_MS = 60_000
/** Grace period: every process has read the alias, opened the new table and finished its reads by then. */
const RETIRE_MS = 60_000

/** Ids of a table's jobs in this process: resumable ones (including unreadable records) and ended ones. */
export interface KnownJobs {
  readonly unfinished: ReadonlySet<string>
  readonly ended: ReadonlySet<string>
}
type FindJobs = () => Promise<KnownJobs>

/** Stored tables that neither the alias nor a resumable job refers to, with the bytes that only they use; none without an alias. */
export async function replacedTables(location: TableLocation, knownJobs: FindJobs) {
  const { dir } = location
  if ((await readAlias(location)) === undefined) return []
  const names = await replacedNames(location, await jobsThatGoOn(dir, await watchingJobs(location), knownJobs))
  return Promise.all(names.map(async (storedAs) => ({ storedAs, bytes: await bytesUnder(tableFolder(dir, storedAs)) })))
}

async function replacedNames(location: TableLocation, going: ReadonlySet<string>): Promise<string[]> {
  const { table } = location
  const keep = [await readAlias(location), ...[...going].map((id) => storedName(table, id))]
  return (await storedTables(location)).filter((storedAs) => !keep.includes(storedAs))
}

/** @param watched read first: a job has its record before its change log */
async function jobsThatGoOn(dir: string, watched: readonly string[], knownJobs: FindJobs): Promise<ReadonlySet<string>> {
  const { unfinished, ended } = await knownJobs()
  return storeOf(dir).keepsFiles ? unfinished : new Set([...unfinished, ...watched.filter((job) => !ended.has(job))])
}

/**
 * Removes leftovers of killed writers and replaced data: temporary files of LanceDB and of this software, and stored tables and change logs
 * of `table` that neither the alias nor an unfinished job refers to. The caller must hold the writer lock. An index in an object store may
 * have jobs of other machines, whose records are not visible here; what they refer to is kept. A table replaced by one of another model is
 * kept while its model is loaded, because processes with only that model still answer from it. If the alias is missing, or names a table
 * that is not there, only tables of ended jobs are removed: another may be the one that it should name.
 * @param models all loaded models
 * @returns true if anything remains to be removed a minute later
 */
export async function removeStale(location: TableLocation, knownJobs: FindJobs, models: readonly EmbeddingModel[]): Promise<boolean> {
  const { dir, table } = location
  const { durable, files } = storeOf(dir)
  const watched = await watchingJobs(location)
  const going = await jobsThatGoOn(dir, watched, knownJobs)
  let isLeft = false
  const drop = async (path: string): Promise<void> => {
    if ((await files.age(path)) < MIN_AGE_MS) isLeft = true
    else await files.removeTree(path)
  }
  const live = await readAlias(location)
  const isNamed = live !== undefined && (await hasVersion(tableFolder(dir, live)))
  const ofEnded = watched.filter((job) => !going.has(job)).map((job) => ({ job, storedAs: storedName(table, job) }))
  const retiring = (await aliasAge(location)) < RETIRE_MS
  for (const storedAs of await replacedNames(location, going)) {
    if (!isNamed && !ofEnded.some((ended) => ended.storedAs === storedAs)) continue
    if (retiring || (await hasReadPins({ dir, storedAs }))) isLeft = true
    else if (live === undefined || !(await isStillServed(dir, storedAs, live, models))) await drop(tableFolder(dir, storedAs))
  }
  for (const storedAs of [...[...going].map((id) => storedName(table, id)), ...(live === undefined ? [] : [live])]) {
    const data = within(tableFolder(dir, storedAs), 'data')
    const names = durable ? [] : await files.list(data)
    for (const name of names.filter((file) => file.startsWith('.tmp'))) await drop(within(data, name))
  }
  // Without an alias, the log shows that a table is the job's.
  for (const { job, storedAs } of ofEnded)
    if (isNamed || !(await hasVersion(tableFolder(dir, storedAs)))) await unwatchChanges(location, job)
  return isLeft
}

/** True if the table is of a loaded model and the live one is of another. A table that cannot be opened counts as such. */
async function isStillServed(dir: string, storedAs: string, live: string, models: readonly EmbeddingModel[]): Promise<boolean> {
  if (models.length < 2 || !(await hasVersion(tableFolder(dir, storedAs)))) return false
  using connection = await connectLance(dir, undefined)
  const idOf = async (name: string): Promise<string | undefined> => {
    const table = await openStored(connection, name)
    return modelOf(await readMetadata(table), models)?.id
  }
  try {
    const own = await idOf(storedAs)
    return own !== undefined && own !== (await idOf(live))
  } catch {
    return true
  }
}
