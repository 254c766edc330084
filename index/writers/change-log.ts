import { Type, type Static } from 'typebox'
import { Value } from 'typebox/value'
import { invalidIndex } from '../../base/errors.ts'
import { parseJson } from '../../base/json.ts'
import type { TableLocation } from '../contract.ts'
import { storeOf } from '../store/store-of.ts'
import { changesFolder } from '../versions/alias.ts'

/**
 * Changes after a job was ordered: from its creation to its end a job has a log, to which every writer of the table appends ids once the
 * change is durable. An adding job skips these passages; a replacing job copies them from the live table before it is promoted.
 */
const ChangeSchema = Type.Object({
  ids: Type.Optional(Type.Array(Type.String())),
  /** A later job that replaced the whole table. */
  replaced_by: Type.Optional(Type.String()),
  /** The job of the log. Not recorded by earlier software. */
  job: Type.Optional(Type.String()),
})
export type Change = Static<typeof ChangeSchema>

/** Jobs with an open change log, sorted. */
export function watchingJobs(location: TableLocation): Promise<string[]> {
  return storeOf(location.dir).logs.names(changesFolder(location))
}

/** Opens a job's change log; idempotent. */
export function watchChanges(location: TableLocation, jobId: string): Promise<void> {
  return storeOf(location.dir).logs.begin(changesFolder(location), jobId)
}

/** Removes the change log of an ended job. */
export function unwatchChanges(location: TableLocation, jobId: string): Promise<void> {
  return storeOf(location.dir).logs.end(changesFolder(location), jobId)
}

/**
 * Appends a durable change to the logs of all earlier jobs; durable when it resolves. The caller must hold the table's writer lock.
 * @param by the job that made the change; ids of jobs sort by creation. Every job is earlier than a change without a job.
 */
export async function appendChange(location: TableLocation, change: Change, by?: string): Promise<void> {
  for (const job of await watchingJobs(location)) {
    const entry = JSON.stringify({ ...change, job })
    if (by === undefined || job < by) await storeOf(location.dir).logs.append(changesFolder(location), job, entry)
  }
}

/** Reads the changes after a job, incrementally. */
export class ChangeLog {
  readonly #next: () => Promise<string[]>
  /** All ids changed so far. */
  readonly ids = new Set<string>()
  /** The job that replaced the whole table, if any. */
  replacedBy: string | undefined

  constructor(
    location: TableLocation,
    readonly jobId: string,
  ) {
    this.#next = storeOf(location.dir).logs.reader(changesFolder(location), jobId)
  }

  /** @returns the ids changed since the last call. Complete if called under the writer lock @throws index_invalid for the log of another job */
  async read(): Promise<Set<string>> {
    const fresh = new Set<string>()
    for (const line of await this.#next()) {
      const value = parseJson(line)
      if (!Value.Check(ChangeSchema, value)) continue
      const { job = this.jobId, ids = [], replaced_by: replacedBy = this.replacedBy } = value
      const problem = `The change log of the job ${this.jobId} is that of ${job}, so later changes could be overwritten: restore it`
      if (job !== this.jobId)
        throw invalidIndex('changes', `${problem}, or cancel the job (cepe index cancel ${this.jobId}) and order it again.`)
      this.replacedBy = replacedBy
      for (const id of ids) fresh.add(id)
    }
    for (const id of fresh) this.ids.add(id)
    return fresh
  }
}
