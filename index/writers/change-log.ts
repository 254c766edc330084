import { mkdir, open, readdir, rm } from 'node:fs/promises'
import { Type, type Static } from 'typebox'
import { Value } from 'typebox/value'
import { syncPath } from '../../base/durable.ts'
import { osCode } from '../../base/errors.ts'
import { parseJson } from '../../base/json.ts'
import { appendEntry, beginList, endList, listsOf, newEntries } from '../store/append-log.ts'
import { isRemote, within } from '../store/location.ts'
import { checkTableName } from '../versions/alias.ts'

/**
 * What came after a job: from its making to its end a job has a file here, to which everyone who changes the table adds
 * the ids, once the change is on the disk. A job that adds leaves these passages as they are; a job that replaces the
 * table takes them over from the live one before it puts its own in the place.
 */
const ChangeSchema = Type.Union([
  Type.Object({ ids: Type.Array(Type.String()) }),
  /** A later job replaced the whole table. */
  Type.Object({ replaced_by: Type.String() }),
])
export type Change = Static<typeof ChangeSchema>

const SUFFIX = '.jsonl'

function changesFolder(dir: string, table: string): string {
  return within(dir, `${checkTableName(table)}.changes`)
}

function changesPath(dir: string, table: string, jobId: string): string {
  return within(changesFolder(dir, table), `${jobId}${SUFFIX}`)
}

/** Jobs whose changes are being noted, in their order. */
export async function watchingJobs(dir: string, table: string): Promise<string[]> {
  if (isRemote(dir)) return listsOf(changesFolder(dir, table))
  try {
    const names = await readdir(changesFolder(dir, table))
    return names
      .filter((name) => name.endsWith(SUFFIX))
      .map((name) => name.slice(0, -SUFFIX.length))
      .sort()
  } catch (error) {
    if (osCode(error) === 'ENOENT') return []
    throw error
  }
}

/** From now on changes are noted for a job; for one that has its file nothing happens. */
export async function watchChanges(dir: string, table: string, jobId: string): Promise<void> {
  const folder = changesFolder(dir, table)
  if (isRemote(dir)) return beginList(folder, jobId)
  await mkdir(folder, { recursive: true })
  await (await open(changesPath(dir, table, jobId), 'a')).close()
  await syncPath(folder)
  await syncPath(dir)
}

/** For a job that has ended. */
export async function unwatchChanges(dir: string, table: string, jobId: string): Promise<void> {
  if (isRemote(dir)) return endList(changesFolder(dir, table), jobId)
  await rm(changesPath(dir, table, jobId), { force: true })
}

/**
 * Notes a change that is on the disk, for every job before it; durable when it returns. The caller must hold the table's writer lock.
 * @param by the job that made it; ids of jobs sort by their making. Every job is before a change by hand.
 */
export async function appendChange(dir: string, table: string, change: Change, by?: string): Promise<void> {
  for (const job of await watchingJobs(dir, table)) {
    if (by !== undefined && job >= by) continue
    if (isRemote(dir)) {
      await appendEntry(changesFolder(dir, table), job, JSON.stringify(change))
      continue
    }
    const file = await open(changesPath(dir, table, job), 'a')
    try {
      // Begins with a newline, so that an entry after a torn one stands on its own.
      await file.appendFile(`\n${JSON.stringify(change)}`)
      await file.datasync()
    } finally {
      await file.close()
    }
  }
}

/** Reads what came after a job, from where it stopped reading before. */
export class ChangeLog {
  readonly #dir: string
  readonly #table: string
  readonly #jobId: string
  #offset = 0
  /** Entries of an object store that were read. */
  readonly #known = new Set<string>()
  /** Every id that was changed so far. */
  readonly ids = new Set<string>()
  /** The job that replaced the whole table, if one did. */
  replacedBy: string | undefined

  constructor(dir: string, table: string, jobId: string) {
    this.#dir = dir
    this.#table = table
    this.#jobId = jobId
  }

  /** @returns the ids that were changed since the last call. Under the writer lock nothing can be missed. */
  async read(): Promise<Set<string>> {
    const fresh = new Set<string>()
    const [dir, table, jobId] = [this.#dir, this.#table, this.#jobId]
    const lines = isRemote(dir) ? await newEntries(changesFolder(dir, table), jobId, this.#known) : (await this.#rest()).split('\n')
    for (const line of lines) {
      const value = parseJson(line)
      if (!Value.Check(ChangeSchema, value)) continue
      if ('replaced_by' in value) this.replacedBy = value.replaced_by
      else for (const id of value.ids) fresh.add(id)
    }
    for (const id of fresh) this.ids.add(id)
    return fresh
  }

  /** What was appended; up to the last newline, after which an entry may be on its way. */
  async #rest(): Promise<string> {
    try {
      const file = await open(changesPath(this.#dir, this.#table, this.#jobId), 'r')
      try {
        const { size } = await file.stat()
        const bytes = Buffer.alloc(size - this.#offset)
        await file.read(bytes, 0, bytes.length, this.#offset)
        // An entry is whole once the next one begins or it parses; a torn one is read again, and never parses.
        const end = parseJson(bytes.subarray(bytes.lastIndexOf(10) + 1).toString()) === undefined ? bytes.lastIndexOf(10) : bytes.length
        this.#offset += Math.max(0, end)
        return bytes.subarray(0, Math.max(0, end)).toString('utf8')
      } finally {
        await file.close()
      }
    } catch (error) {
      if (osCode(error) === 'ENOENT') return ''
      throw error
    }
  }
}
