import { randomBytes } from 'node:crypto'
import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { Value } from 'typebox/value'
import { ageOf } from '../../../base/clock.ts'
import { writeFileDurably } from '../../../base/durable.ts'
import { CodedError, conflict, notFound } from '../../../base/errors.ts'
import { exists, orAbsent, readText } from '../../../base/exists.ts'
import { jobFiles } from '../../../index/ingest/plan/contract.ts'
import { isLockHeld, takeLock, whileHeld, type Lock } from '../../../base/locks/lock.ts'
import type { KnownJobs } from '../../../index/ingest/remove-stale.ts'
import { parseSealed, sealed } from '../../../base/json.ts'
import { isFinal, JOB_ID, JOB_VERSION, JobSchema, type Job } from './schema.ts'

/** Age after which the folder of an interrupted upload, which has no record, is removed. */
const ORPHAN_MS = 3_600_000

const IS_ID = new RegExp(JOB_ID)

/** Enough for a job's state, an alias and a journal entry, each in blocks of its own. */
const RESERVE_BYTES = 64 * 1024

export function unknownJob(id: string): CodedError {
  const shown = JSON.stringify(id.slice(0, 40))
  return notFound('id', `There is no index job ${shown}; \`cepe index status\` and GET /v1/admin/index-jobs list them.`)
}

/** Jobs on disk, one folder each, shared by all processes that use the folder. */
export class JobStore {
  constructor(readonly dir: string) {}

  /** Ids sort by creation: above all others, also if the clock was set back since. */
  async newId(): Promise<string> {
    const last = (await this.#ids()).at(-1)?.replace(/^(.{4})(..)(..)T(..)(..)(..)(...).*$/, '$1-$2-$3T$4:$5:$6.$7Z') ?? ''
    const time = new Date(Math.max(Date.now(), (Date.parse(last) || 0) + 1))
    return `${time.toISOString().replace(/[-:.Z]/g, '')}-${randomBytes(2).toString('hex')}`
  }

  folder(id: string): string {
    return join(this.dir, id)
  }

  async save(job: Job): Promise<void> {
    await writeFileDurably(this.#record(job.id), `${JSON.stringify(sealed(job), null, 2)}\n`)
  }

  /** @throws not_found for an unknown id, conflict for a record that this software cannot read */
  async load(id: string): Promise<Job> {
    const job = IS_ID.test(id) ? await this.#read(id) : undefined
    if (job === 'unreadable') {
      const message = `The record ${this.#record(id)} was written by newer software or is damaged, or cannot be read. Nothing of the job is removed: update this software, or, to give the job up, remove its folder.`
      throw conflict('id', message)
    }
    if (job === undefined) throw unknownJob(id)
    return job
  }

  /** All jobs whose record can be read, oldest first. */
  async list(): Promise<Job[]> {
    return (await this.#records()).flatMap(({ job }) => (job === 'unreadable' ? [] : job))
  }

  /** Ids of the jobs whose record cannot be read. */
  async unreadable(): Promise<string[]> {
    return (await this.#records()).flatMap(({ id, job }) => (job === 'unreadable' ? id : []))
  }

  /** Ids of a table's jobs. Unfinished ones, whose data must be kept, include those with an unreadable record. */
  async known(table: string): Promise<KnownJobs> {
    const [unfinished, ended] = [new Set<string>(), new Set<string>()]
    for (const { id, job } of await this.#records())
      if (job === 'unreadable') unfinished.add(id)
      else if (job.table === table) (isFinal(job.state) ? ended : unfinished).add(id)
    return { unfinished, ended }
  }

  /** Detaches the ended jobs of a removed collection from its name: they remain, but belong to no collection that is created later. */
  async detach(table: string): Promise<void> {
    for (const job of await this.list()) if (job.table === table) await this.save({ ...job, table: `${table} (deleted)` })
  }

  /** Takes the lease for running a job or receiving its upload. @returns undefined if another process holds it */
  lease(id: string): Promise<Lock | undefined> {
    return takeLock(this.#lease(id), 0)
  }

  isLeased(id: string): Promise<boolean> {
    return isLockHeld(this.#lease(id))
  }

  /** Requests cancellation from whichever process runs the job. */
  async requestCancel(id: string): Promise<void> {
    await writeFileDurably(join(this.folder(id), 'cancel'), '')
  }

  async cancelRequested(id: string): Promise<boolean> {
    return exists(join(this.folder(id), 'cancel'))
  }

  /** Reserves disk space for the writes at a job's end. */
  async takeReserve(id: string): Promise<void> {
    await writeFileDurably(jobFiles(this.folder(id)).reserve, '-'.repeat(RESERVE_BYTES))
  }

  async giveReserve(id: string): Promise<void> {
    await rm(jobFiles(this.folder(id)).reserve, { force: true })
  }

  /** Removes the planned corpus and uploaded files of a job that will not read them again. */
  async dropShards(id: string): Promise<void> {
    const { shards, uploads } = jobFiles(this.folder(id))
    await rm(shards, { recursive: true, force: true })
    await rm(uploads, { recursive: true, force: true })
  }

  async remove(id: string): Promise<void> {
    await rm(this.folder(id), { recursive: true, force: true })
  }

  /** Removes folders of uploads interrupted by a kill: they have no record and no lease. */
  async removeOrphans(): Promise<void> {
    for (const id of await this.#ids()) {
      if ((await this.#read(id)) !== undefined || ageOf((await stat(this.folder(id))).mtimeMs) < ORPHAN_MS) continue
      await whileHeld(this.lease(id), () => this.remove(id))
    }
  }

  async #ids(): Promise<string[]> {
    // Not created: the folder of the index, in which it may be, may have disappeared.
    return ((await orAbsent(readdir(this.dir))) ?? []).filter((name) => IS_ID.test(name)).sort()
  }

  /** The records of all jobs, oldest first. */
  async #records() {
    const records: { readonly id: string; readonly job: Job | 'unreadable' }[] = []
    for (const id of await this.#ids()) {
      const job = await this.#read(id)
      if (job !== undefined) records.push({ id, job })
    }
    return records
  }

  #lease(id: string): string {
    return join(this.folder(id), 'lease')
  }

  #record(id: string): string {
    return join(this.folder(id), 'job.json')
  }

  /** @returns undefined if there is none */
  async #read(id: string): Promise<Job | 'unreadable' | undefined> {
    const content = await readText(this.#record(id)).catch((error: unknown) => {
      if (error instanceof CodedError) return ''
      throw error
    })
    if (content === undefined) return undefined
    const value = parseSealed(content)
    return Value.Check(JobSchema, value) && value.version === JOB_VERSION && value.id === id ? value : 'unreadable'
  }
}
