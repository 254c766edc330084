import { Type, type Static } from 'typebox'
import { Value } from 'typebox/value'
import { parseJson } from '../../base/json.ts'
import { storeOf, within } from '../store/store-of.ts'
import { checkTableName } from '../versions/alias.ts'

/**
 * What came after a job: from its making to its end a job has a list here, to which everyone who changes the table adds
 * the ids, once the change is on the disk. A job that adds leaves these passages as they are; a job that replaces the
 * table takes them over from the live one before it puts its own in the place.
 */
const ChangeSchema = Type.Union([
  Type.Object({ ids: Type.Array(Type.String()) }),
  /** A later job replaced the whole table. */
  Type.Object({ replaced_by: Type.String() }),
])
export type Change = Static<typeof ChangeSchema>

function changesFolder(dir: string, table: string): string {
  return within(dir, `${checkTableName(table)}.changes`)
}

/** Jobs whose changes are being noted, in their order. */
export function watchingJobs(dir: string, table: string): Promise<string[]> {
  return storeOf(dir).logs.names(changesFolder(dir, table))
}

/** From now on changes are noted for a job; for one that has its list nothing happens. */
export function watchChanges(dir: string, table: string, jobId: string): Promise<void> {
  return storeOf(dir).logs.begin(changesFolder(dir, table), jobId)
}

/** For a job that has ended. */
export function unwatchChanges(dir: string, table: string, jobId: string): Promise<void> {
  return storeOf(dir).logs.end(changesFolder(dir, table), jobId)
}

/**
 * Notes a change that is on the disk, for every job before it; durable when it returns. The caller must hold the table's writer lock.
 * @param by the job that made it; ids of jobs sort by their making. Every job is before a change by hand.
 */
export async function appendChange(dir: string, table: string, change: Change, by?: string): Promise<void> {
  for (const job of await watchingJobs(dir, table)) {
    if (by === undefined || job < by) await storeOf(dir).logs.append(changesFolder(dir, table), job, JSON.stringify(change))
  }
}

/** Reads what came after a job, from where it stopped reading before. */
export class ChangeLog {
  readonly #next: () => Promise<string[]>
  /** Every id that was changed so far. */
  readonly ids = new Set<string>()
  /** The job that replaced the whole table, if one did. */
  replacedBy: string | undefined

  constructor(dir: string, table: string, jobId: string) {
    this.#next = storeOf(dir).logs.reader(changesFolder(dir, table), jobId)
  }

  /** @returns the ids that were changed since the last call. Under the writer lock nothing can be missed. */
  async read(): Promise<Set<string>> {
    const fresh = new Set<string>()
    for (const line of await this.#next()) {
      const value = parseJson(line)
      if (!Value.Check(ChangeSchema, value)) continue
      if ('replaced_by' in value) this.replacedBy = value.replaced_by
      else for (const id of value.ids) fresh.add(id)
    }
    for (const id of fresh) this.ids.add(id)
    return fresh
  }
}
