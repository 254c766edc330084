import { setTimeout as sleep } from 'node:timers/promises'
import type { SearchPolicy } from '../../../index/search/ann.ts'
import { CodedError, messageOf, type ErrorCode } from '../../../base/errors.ts'
import { isDiskFull } from '../../../base/failures.ts'
import { abandonJob } from '../../../index/ingest/abandon-job.ts'
import { jobFiles } from '../../../index/ingest/plan/job-files.ts'
import { planCorpus, readPlan } from '../../../index/ingest/plan/plan.ts'
import { adoptPlan, vectorReader } from '../../../index/ingest/shard-dir/adopt-plan.ts'
import { checkShardDir } from '../../../index/ingest/shard-dir/check.ts'
import { checkShardDirModel, openShardDir, type ShardDir } from '../../../index/ingest/shard-dir/shard-dir.ts'
import { livePassages, textBytes } from '../../../index/ingest/reembed.ts'
import { runJob } from '../../../index/ingest/run.ts'
import { planBytes, requireSpace } from '../../../index/ingest/space.ts'
import { removeStale } from '../../../index/ingest/remove-stale.ts'
import { readAlias } from '../../../index/versions/alias.ts'
import { unwatchChanges } from '../../../index/writers/change-log.ts'
import type { PassageIndex } from '../../../index/open.ts'
import { readPassageFile } from '../../../index/read/read.ts'
import type { ReadItem, ReadLimits } from '../../../index/read/contract.ts'
import { allModels, type Embed, type EmbeddingModel } from '../../../index/contract.ts'
import { Rate } from './rate.ts'
import { StageEta } from './stage-eta.ts'
import { corpusReadOptions, ReadingNotes } from '../reading.ts'
import { isSettled, rejectedShare, type Job } from '../schema.ts'
import { DEFAULT_FILE_BOUNDS, folderBytes, leftOutShare, readFolder, type FileBounds } from '../folder/read.ts'
import { describeFiles } from '../folder/describe.ts'
import { deleteMissing, noteFiles } from '../folder/missing.ts'
import { FileTally, type Files } from '../folder/summary.ts'
import type { JobStore } from '../store.ts'

export interface JobRunOptions {
  readonly index: PassageIndex
  readonly embedOf: (model: EmbeddingModel) => Embed
  readonly store: JobStore
  readonly limits: Partial<ReadLimits> | undefined
  readonly policy: Partial<SearchPolicy> | undefined
  readonly shardRows: number | undefined
  readonly fileBounds: FileBounds | undefined
  readonly log: (level: 'info' | 'warn' | 'error', message: string) => void
  /** Aborted when the service stops: the job then stays as it is, for the next start. */
  readonly closing: AbortSignal
}

const SAVE_MS = 1000
type EndState = 'done' | 'failed' | 'stopped' | 'cancelled'

/** Causes that lie in the corpus or the options, met before anything is embedded. After others the work done is kept for a resume. */
const FINAL: readonly ErrorCode[] = ['corpus_invalid', 'invalid_request', 'not_found', 'payload_too_large', 'unsupported_media_type']

/** An error as a job shows it. */
export function toJobError(error: unknown): { code: ErrorCode; message: string } {
  if (error instanceof CodedError) return { code: error.code, message: error.message }
  if (isDiskFull(error)) return { code: 'disk_full', message: 'The disk is full: free space, then resume the job.' }
  return { code: 'internal', message: messageOf(error) }
}

/** Ends a stopped job instead of resuming it: frees its copy of the corpus and the table it was building. */
export async function cancelStopped(job: Job, { index, store }: Pick<JobRunOptions, 'index' | 'store'>): Promise<void> {
  await store.dropShards(job.id)
  await abandonJob({ dir: index.dir, table: job.table, jobId: job.id, folder: store.folder(job.id) })
  await store.giveReserve(job.id)
  await store.save({ ...job, state: 'cancelled', finished_at: new Date().toISOString() })
}

/** One job from where it stands to its end. The caller holds the writer lock. */
export class JobRun {
  readonly #options: JobRunOptions
  readonly #abort = new AbortController()
  readonly #rate = new Rate()
  readonly #stageEta = new StageEta()
  #job: Job
  #saved: Promise<void> = Promise.resolve()
  /** How the job ends, once that is being written. */
  #final: Job | undefined
  #cancelled = false

  constructor(job: Job, options: JobRunOptions) {
    this.#job = job
    this.#options = options
  }

  get id(): string {
    return this.#job.id
  }

  get job(): Job {
    return this.#job
  }

  /** Ends the job at its next step and waits until it has ended. */
  cancel(): Promise<void> {
    this.#cancelled = true
    this.#abort.abort(new CodedError('conflict', 'The job was cancelled.'))
    return this.#ended.promise
  }

  /** Resolves when the job has ended or stopped and its state is on the disk. */
  get ended(): Promise<void> {
    return this.#ended.promise
  }

  readonly #ended = deferred()

  async run(): Promise<void> {
    const { store, closing } = this.#options
    if (isSettled(this.#job.state) && this.#job.state !== 'stopped') return this.#ended.resolve()
    const stop = (): void => this.#abort.abort(closing.reason)
    // It may have come to its end between the queue's last look and here: no event tells that any more.
    if (closing.aborted) stop()
    closing.addEventListener('abort', stop, { once: true })
    const timer = setInterval(() => {
      this.#save().catch((error: unknown) =>
        this.#options.log('warn', `index job ${this.id}: its state could not be saved: ${messageOf(error)}`),
      )
      store.cancelRequested(this.id).then(
        (wanted) => {
          if (wanted && !this.#cancelled) this.cancel().catch(() => undefined)
        },
        () => undefined,
      )
    }, SAVE_MS)
    try {
      if (await store.cancelRequested(this.id)) this.#cancelled = true
      if (this.#cancelled) return await this.#end('cancelled', null)
      closing.throwIfAborted()
      await this.#work()
    } catch (error) {
      if (closing.aborted && !this.#cancelled) await this.#save()
      else if (this.#cancelled) await this.#end('cancelled', null)
      else await this.#fail(error)
    } finally {
      clearInterval(timer)
      closing.removeEventListener('abort', stop)
      await this.#saved.catch(() => undefined)
      this.#ended.resolve()
    }
  }

  async #work(): Promise<void> {
    const { index, embedOf, store, policy } = this.#options
    const { id, table } = this.#job
    const folder = store.folder(id)
    await removeStale(index.dir, table, () => store.known(table), allModels(index))
    await store.takeReserve(id)
    const shardDir = await this.#shardDir()
    const model = await this.#model()
    const embed = embedOf(model)
    if ((await readPlan(folder)) === undefined) await (shardDir === undefined ? this.#plan(folder) : this.#adopt(shardDir, folder, model))
    const { rows, ann, supersededBy } = await runJob({
      dir: index.dir,
      table,
      model,
      embed,
      embedQuestions: embed,
      jobId: id,
      folder,
      replace: this.#job.options.replace ?? false,
      byContent: this.#job.source.files !== undefined,
      ...(policy && { policy }),
      ...(shardDir && { readyVectors: vectorReader(shardDir) }),
      signal: this.#abort.signal,
      onProgress: (state, counters, stage) => {
        if (stage !== undefined) return this.#atStage({ ...this.#job, state, counters, rate: null }, stage)
        const done = counters.embedded + counters.skipped
        this.#rate.add(done, performance.now())
        const rate = this.#rate.perSecond()
        const eta = rate === null || rate === 0 ? null : Math.round((counters.accepted - done) / rate)
        this.#job = { ...this.#job, state, counters, rate: rate === null ? null : Math.round(rate * 10) / 10, eta_s: eta, stage: null }
      },
      onWarning: (message) => {
        this.#options.log('warn', message)
        this.#job = { ...this.#job, warnings: [...this.#job.warnings, message] }
      },
    })
    if (supersededBy !== undefined) {
      const message = `Job ${supersededBy}, which was ordered later, has replaced the table: this one's passages are left out. To have them, order it anew.`
      return this.#end('cancelled', { code: 'conflict', message })
    }
    // Questions meet the new table before the job is called done.
    await index.refresh()
    const gone = await this.#deleteMissing()
    await this.#end('done', null, { rows: rows - gone, recall: ann?.recall ?? null })
  }

  /** @returns the passages deleted */
  async #deleteMissing(): Promise<number> {
    const { files, source, options } = this.#job
    // A table that was made anew holds nothing of earlier files.
    if (options.delete_missing !== true || options.replace === true || source.files === undefined) return 0
    const gone = await deleteMissing(this.#job, this.#options)
    if (files !== undefined) this.#job = { ...this.#job, files: { ...files, gone } }
    return gone.passages
  }

  #atStage(job: Job, stage: NonNullable<Job['stage']>): void {
    this.#job = { ...job, stage, eta_s: this.#stageEta.left(stage, performance.now()) }
  }

  /** The model of the table that the job writes: its own where it makes one (or has vectors already), else that of the table that is there by now. */
  async #model(): Promise<EmbeddingModel> {
    const { index } = this.#options
    const { model, options, source } = this.#job
    const ordered = allModels(index).find(({ id }) => id === model) ?? index.model
    if (options.replace === true || source.place === true) return ordered
    if ((await readAlias(index.dir, index.table)) === undefined) return ordered
    await index.refresh()
    return index.writtenWith()
  }

  async #shardDir(): Promise<ShardDir | undefined> {
    const { path, place: shardDir } = this.#job.source
    return shardDir === true && path !== null ? openShardDir(path) : undefined
  }

  /** The plan of a place, whose vectors are there. Once it is the job's own, it is not looked at again. */
  async #adopt(shardDir: ShardDir, folder: string, model: EmbeddingModel): Promise<void> {
    checkShardDirModel(shardDir, model)
    await checkShardDir(shardDir)
    const { read, rejected, accepted } = await adoptPlan(shardDir, folder)
    this.#job = { ...this.#job, counters: { ...this.#job.counters, read, rejected, accepted } }
  }

  async #plan(folder: string): Promise<void> {
    const { options } = this.#job
    const { shardRows } = this.#options
    const notes = new ReadingNotes()
    this.#job = { ...this.#job, state: 'planning' }
    await this.#save()
    let share = 0
    const ofFiles = this.#job.source.files !== undefined
    const tally = new FileTally()
    const { bytes, items } = this.#corpus((done) => (share = done))
    await requireSpace(folder, await bytes(), 'The copy of the corpus')
    const planned = planCorpus(tally.counting(notes.of(items())), {
      folder,
      maxRejectedShare: ofFiles ? leftOutShare(options) : rejectedShare(options),
      unit: ofFiles ? 'files' : 'lines',
      ...(shardRows && { shardRows }),
      signal: this.#abort.signal,
      onProgress: (counts) => {
        const counters = { ...this.#job.counters, ...counts }
        const job = { ...this.#job, counters, ...(ofFiles && { files: tally.files }), recent_rejects: [...notes.rejects] }
        this.#atStage(job, { name: 'reading the source', share })
      },
    })
    await planned.catch((error: unknown) => {
      throw ofFiles ? withFiles(error, tally.files) : error
    })
    const warnings = [...this.#job.warnings, ...notes.warnings]
    this.#job = { ...this.#job, ...(ofFiles && { files: tally.files }), recent_rejects: notes.rejects, warnings }
    await this.#save()
  }

  /** What is planned, and what the plan takes on the disk. `onShare` hears how much of a file is read. */
  #corpus(onShare: (done: number) => void): { readonly bytes: () => Promise<number>; readonly items: () => AsyncIterable<ReadItem> } {
    const { index, limits } = this.#options
    const { table, options } = this.#job
    const { path, name, reembed, files } = this.#job.source
    const live = { dir: index.dir, table }
    if (reembed === true) return { bytes: () => textBytes(live), items: () => livePassages(live) }
    const folder = files?.uploaded === true ? jobFiles(this.#options.store.folder(this.id)).uploads : path
    if (folder === null) throw new CodedError('internal', 'The upload was not planned to its end: send it again.')
    if (files !== undefined) {
      const { fileBounds: bounds = DEFAULT_FILE_BOUNDS } = this.#options
      const source = { path: folder, ...files }
      return {
        bytes: () => folderBytes(source),
        items: () =>
          readFolder(source, {
            options,
            bounds,
            limits,
            signal: this.#abort.signal,
            onShare,
            onListed: (listed) => noteFiles(this.#options.store.folder(this.id), listed, options.label),
          }),
      }
    }
    return {
      bytes: () => planBytes(folder),
      items: () => readPassageFile(folder, { ...corpusReadOptions(options, name, limits), onShare }),
    }
  }

  async #fail(error: unknown): Promise<void> {
    const described = toJobError(error)
    this.#options.log('error', `index job ${this.id}: ${described.message}`)
    await this.#end(FINAL.includes(described.code) ? 'failed' : 'stopped', described)
  }

  /**
   * Ends the job. Its end is seen once it is on the disk; on a full disk, where giving back what the job holds is not
   * enough, at once, and it is written as soon as there is room.
   */
  async #end(state: EndState, error: Job['error'], result: Job['result'] = null): Promise<void> {
    const { store, log, closing } = this.#options
    const final = { ...this.#job, state, error, result, eta_s: null, stage: null, finished_at: new Date().toISOString() }
    for (let attempt = 1; ; attempt++) {
      try {
        await this.#settle(state)
        this.#final = final
        await this.#save()
        this.#job = final
        return
      } catch (failed) {
        if (!isDiskFull(failed) || closing.aborted) throw failed
        if (attempt === 2) log('error', `index job ${this.id}: the disk is full, its state is kept in memory until there is room`)
        if (attempt > 1) this.#job = final
        if (attempt > 1) await sleep(SAVE_MS, undefined, { signal: closing }).catch(() => undefined)
        await store.giveReserve(this.id)
      }
      if (state === 'stopped' && this.#cancelled) return this.#end('cancelled', null)
    }
  }

  /** What goes with an end, what frees space first. */
  async #settle(state: EndState): Promise<void> {
    const { index, store } = this.#options
    const { id, table } = this.#job
    if (state === 'stopped') return
    await store.dropShards(id)
    if (state === 'done') await unwatchChanges(index.dir, table, id)
    else await abandonJob({ dir: index.dir, table, jobId: id, folder: store.folder(id) })
    await store.giveReserve(id)
  }

  /** Saves in order: a later state is never overwritten by an earlier one. */
  #save(): Promise<void> {
    const next = this.#saved.catch(() => undefined).then(() => this.#options.store.save(this.#final ?? this.#job))
    this.#saved = next
    return next
  }
}

/** What is wrong with a corpus of files, with the kinds of those that were left out. */
function withFiles(error: unknown, files: Files): unknown {
  if (!(error instanceof CodedError) || error.code !== 'corpus_invalid') return error
  return new CodedError('corpus_invalid', `${error.message} (${describeFiles(files, 'readable')}.)`, { cause: error })
}

function deferred(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve: () => void = () => undefined
  const promise = new Promise<void>((done) => {
    resolve = done
  })
  return { promise, resolve }
}
