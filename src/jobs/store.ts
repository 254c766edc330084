import { randomBytes } from 'node:crypto'
import { access, mkdir, readdir, readFile, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { Value } from 'typebox/value'
import { writeFileDurably } from '../../base/durable.ts'
import { osCode, CodedError } from '../../base/errors.ts'
import { jobFiles } from '../../index/ingest/files.ts'
import { JOB_ID, JobSchema, type Job } from './schema.ts'

/** Uploads that were cut off by a kill have no job file; older ones than this are swept. */
const ORPHAN_MS = 3_600_000

/** Enough for a job's state, an alias and a journal's entry, each in blocks of its own. */
const RESERVE_BYTES = 64 * 1024

/** Jobs on the disk, one folder each: every process that uses the folder sees the same jobs. */
export class JobStore {
  readonly #dir: string

  constructor(dir: string) {
    this.#dir = dir
  }

  /** Ids sort by creation time. */
  newId(): string {
    return `${new Date().toISOString().replace(/[-:.Z]/g, '')}-${randomBytes(2).toString('hex')}`
  }

  folder(id: string): string {
    return join(this.#dir, id)
  }

  async save(job: Job): Promise<void> {
    await writeFileDurably(join(this.folder(job.id), 'job.json'), `${JSON.stringify(job, null, 2)}\n`)
  }

  /** @throws not_found for an id that names no job. */
  async load(id: string): Promise<Job> {
    const job = new RegExp(JOB_ID).test(id) ? await this.#read(id) : undefined
    if (job === undefined)
      throw new CodedError('not_found', `There is no index job ${JSON.stringify(id.slice(0, 40))}; GET /v1/admin/index-jobs lists them.`, {
        field: 'id',
      })
    return job
  }

  /** All jobs, oldest first. */
  async list(): Promise<Job[]> {
    const jobs: Job[] = []
    for (const id of await this.#ids()) {
      const job = await this.#read(id)
      if (job !== undefined) jobs.push(job)
    }
    return jobs
  }

  /** Tells the process that runs the job, whichever it is, to cancel it. */
  async requestCancel(id: string): Promise<void> {
    await writeFileDurably(join(this.folder(id), 'cancel'), '')
  }

  async cancelRequested(id: string): Promise<boolean> {
    return access(join(this.folder(id), 'cancel')).then(
      () => true,
      () => false,
    )
  }

  /** Sets room aside for the writes at a job's end. */
  async takeReserve(id: string): Promise<void> {
    await writeFileDurably(jobFiles(this.folder(id)).reserve, '-'.repeat(RESERVE_BYTES))
  }

  async giveReserve(id: string): Promise<void> {
    await rm(jobFiles(this.folder(id)).reserve, { force: true })
  }

  /** Gives the space of the planned corpus back: for a job that will not read it again. */
  async dropShards(id: string): Promise<void> {
    await rm(jobFiles(this.folder(id)).shards, { recursive: true, force: true })
  }

  async remove(id: string): Promise<void> {
    await rm(this.folder(id), { recursive: true, force: true })
  }

  async sweepOrphans(): Promise<void> {
    for (const id of await this.#ids()) {
      const folder = this.folder(id)
      if ((await this.#read(id)) === undefined && Date.now() - (await stat(folder)).mtimeMs > ORPHAN_MS) await this.remove(id)
    }
  }

  async #ids(): Promise<string[]> {
    await mkdir(this.#dir, { recursive: true })
    return (await readdir(this.#dir)).filter((name) => new RegExp(JOB_ID).test(name)).sort()
  }

  async #read(id: string): Promise<Job | undefined> {
    try {
      const value: unknown = JSON.parse(await readFile(join(this.folder(id), 'job.json'), 'utf8'))
      return Value.Check(JobSchema, value) ? value : undefined
    } catch (error) {
      if (osCode(error) === 'ENOENT' || error instanceof SyntaxError) return undefined
      throw error
    }
  }
}
