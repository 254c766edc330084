import { setTimeout as sleep } from 'node:timers/promises'
import { CodedError } from '../../base/errors.ts'
import { exists } from '../../base/exists.ts'
import { isDiskFull } from '../../base/failures.ts'
import { fileBytes, readLines } from '../../base/files.ts'
import { parseJson } from '../../base/json.ts'
import { whileHeld } from '../../base/locks/lock.ts'
import { jobFiles } from '../../index/ingest/plan/contract.ts'
import { replacedTables } from '../../index/ingest/remove-stale.ts'
import { ordersOf } from './orders.ts'
import { checkOpen, isFinal, isSettled, moved, type Job } from './record/schema.ts'
import { JobStore } from './record/store.ts'
import type { JobParts } from './run/live-job.ts'
import { JobQueue } from './run/runner.ts'
import { cancelStopped } from './run/work.ts'

const POLL_MS = 200

/** Bulk indexing: a job queue on disk. One job runs at a time, across all processes of an index. */
export type Jobs = ReturnType<typeof createJobs>

/** Creates the jobs of an index. Nothing runs before `start`, or before a job is added. */
export function createJobs(parts: JobParts) {
  const { index, jobsDir } = parts
  const store = new JobStore(jobsDir)
  const queue = new JobQueue(parts, store)
  /** The state of the running job is newer than its file. @throws not_found */
  const get = async (id: string): Promise<Job> => queue.running(id)?.live.job ?? (await store.load(id))
  /** Queues a stopped or interrupted job again. @throws conflict for a finished job */
  const resume = async (id: string): Promise<Job> => {
    const job = await get(id)
    // The final write of a run must not overwrite the state saved below.
    if (isSettled(job.state)) await queue.running(id)?.ended
    checkOpen(job)
    if (job.state === 'stopped') await store.save(moved(job, 'queued', { error: null }))
    await queue.enqueue(id)
    return get(id)
  }
  return {
    ...ordersOf({ parts, store, queue, resume }),
    get,
    resume,
    /** All jobs, oldest first. */
    list: async () => (await store.list()).map((job) => queue.running(job.id)?.live.job ?? job),
    unreadable: () => store.unreadable(),
    /** Replaced tables that have not been removed yet. */
    replacedTables: () => replacedTables(index, () => store.known(index.table)),
    /** True for an unfinished job whose process has ended, so that nothing runs it. */
    isAbandoned: async (id: string) => !isSettled((await get(id)).state) && !(await store.isLeased(id)),
    /** Cancels a job, in whichever process it runs. Passages committed to a live table stay. @throws conflict for a finished job */
    cancel: async (id: string) => {
      checkOpen(await get(id))
      // A full disk prevents the cancel request from being written. Jobs of this process, and abandoned ones, are cancelled without it.
      await store.requestCancel(id).catch((error: unknown) => {
        if (!isDiskFull(error)) throw error
      })
      const running = queue.running(id)
      running?.live.cancel()
      await running?.ended
      const now = await get(id)
      if (now.state === 'queued' || now.state === 'stopped') await cancelStopped(now, { index, store })
      // The job of a dead process. One that another process runs, or that waits here, is ended by the cancel request.
      else
        await whileHeld(store.lease(id), async () => {
          const job = await store.load(id)
          if (!isSettled(job.state)) await cancelStopped(job, { index, store })
        })
      return get(id)
    },
    report: async (id: string) => reportOf(store, await store.load(id)),
    /** Resolves when the job has ended, in whichever process it runs. */
    wait: async (id: string, onProgress: (job: Job) => void = () => undefined, signal?: AbortSignal) => {
      for (;;) {
        const job = await get(id)
        onProgress(job)
        if (isSettled(job.state)) return job
        const polled = sleep(POLL_MS, undefined, signal ? { signal } : {})
        await Promise.race([polled, queue.turn(id) ?? polled])
      }
    },
    /** Resumes jobs left unfinished by earlier processes. */
    start: async () => {
      await store.removeOrphans()
      for (const job of await store.list()) if (job.state === 'stopped' && queue.isOfOurModel(job)) await resume(job.id)
      await queue.start()
    },
    /** Stops after the running batch; unfinished jobs resume at the next start. */
    close: () => queue.close(),
  }
}

/**
 * The lines of a job's report of rejected lines, as JSON. There is no file if none was rejected.
 * @throws store_unavailable if the report of an ended job is lost, incomplete or that of another job
 */
async function reportOf(store: JobStore, { id, state, counters, recent_rejects: recent }: Job): Promise<AsyncGenerator<string>> {
  const { rejects } = jobFiles(store.folder(id))
  const lines = async function* (): AsyncGenerator<string> {
    if (!(await exists(rejects))) return
    for await (const line of readLines(fileBytes(rejects), Infinity)) if ('text' in line) yield line.text
  }
  if (!isFinal(state)) return lines()
  const left = new Set(recent.map((reject) => JSON.stringify(reject)))
  let rejected = 0
  for await (const line of lines()) {
    left.delete(line)
    const { reason, lines: count = 1 } = (parseJson(line) ?? {}) as { readonly reason?: string; readonly lines?: number }
    if (reason !== undefined) rejected += count
  }
  if (left.size === 0 && (state !== 'done' || rejected === counters.rejected)) return lines()
  const problem = `${rejects} has other lines than the job ${id} rejected: it is lost, incomplete or that of another job`
  throw new CodedError('store_unavailable', `${problem}. Put its copy back.`)
}

function refuse(): Promise<never> {
  return Promise.reject(new CodedError('not_found', 'This process is a replica, which runs no jobs: order them from the indexer.'))
}

/** Null implementation for a process without jobs: never accesses the jobs folder. */
export const noJobs: Jobs = {
  addFile: refuse,
  addFolder: refuse,
  addImport: refuse,
  addPages: refuse,
  addShardDir: refuse,
  addReembed: refuse,
  addUpload: refuse,
  addFiles: refuse,
  list: () => Promise.resolve([]),
  unreadable: () => Promise.resolve([]),
  get: refuse,
  isAbandoned: refuse,
  replacedTables: () => Promise.resolve([]),
  cancel: refuse,
  resume: refuse,
  report: refuse,
  wait: refuse,
  start: () => Promise.resolve(),
  close: () => Promise.resolve(),
}
