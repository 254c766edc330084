import { setTimeout as sleep } from 'node:timers/promises'
import { CodedError, messageOf, type ErrorCode } from '../../../base/errors.ts'
import { describedError, isDiskFull } from '../../../base/failures.ts'
import { allModels, isBuildOf, type EmbeddingModel } from '../../../index/contract.ts'
import { removeStale } from '../../../index/ingest/remove-stale.ts'
import { abandonJob, runJob } from '../../../index/ingest/run.ts'
import { openShardDir, vectorReader } from '../../../index/ingest/shard-dir/shard-dir.ts'
import { readAlias } from '../../../index/versions/alias.ts'
import { unwatchChanges } from '../../../index/writers/change-log.ts'
import { bulkEmbed } from '../../inference/bulk-embed.ts'
import { embedderOf } from '../../inference/contract.ts'
import { leftOutShare } from '../sources/read.ts'
import { deleteMissing } from '../sources/missing.ts'
import { keepUploads } from '../kept/keep-uploads.ts'
import { isFinal, moved, type Job, type JobState } from '../record/schema.ts'
import { ensurePlan } from './plan-job.ts'
import { LiveJob, type JobRunParts } from './live-job.ts'

const SAVE_MS = 1000
/** Errors of the corpus or the options: the job fails. After any other error it stops and can be resumed. */
const FINAL: readonly ErrorCode[] = ['corpus_invalid', 'invalid_request', 'not_found', 'payload_too_large', 'unsupported_media_type']

type EndState = 'done' | 'failed' | 'stopped' | 'cancelled'

/** Frees what a job took that ended in a state, space first. A stopped one keeps all. */
async function settle({ id, table }: Job, state: JobState, { index, store }: Pick<JobRunParts, 'index' | 'store'>): Promise<void> {
  if (state === 'stopped') return
  await store.dropShards(id)
  if (state === 'done') await unwatchChanges({ dir: index.dir, table }, id)
  else await abandonJob({ dir: index.dir, table, jobId: id, folder: store.folder(id) })
  await store.giveReserve(id)
}

/** Cancels a job that does not run: removes its copy of the corpus and the table it was building. */
export async function cancelStopped(job: Job, options: Pick<JobRunParts, 'index' | 'store'>): Promise<void> {
  await settle(job, 'cancelled', options)
  await options.store.save(moved(job, 'cancelled'))
}

/** Runs or resumes one job. The caller must hold the job lock. */
export class JobRun extends LiveJob {
  readonly #options: JobRunParts
  readonly #abort = new AbortController()
  #cancelled = false
  #hasEnded: () => void = () => undefined
  /** Resolves when the job has ended or stopped and its state is on disk. */
  readonly ended = new Promise<void>((resolve) => (this.#hasEnded = resolve))

  constructor(job: Job, options: JobRunParts) {
    super(job, options.store)
    this.#options = options
  }

  get id(): string {
    return this.job.id
  }

  /** Cancels the job and waits until it has ended. */
  cancel(): Promise<void> {
    this.#cancelled = true
    this.#abort.abort(new CodedError('conflict', 'The job was cancelled.'))
    return this.ended
  }

  async run(): Promise<void> {
    const { store, closing, log } = this.#options
    if (isFinal(this.job.state)) return this.#hasEnded()
    const stop = (): void => this.#abort.abort(closing.reason)
    // An already aborted signal emits no event.
    if (closing.aborted) stop()
    closing.addEventListener('abort', stop, { once: true })
    const timer = setInterval(() => {
      this.save().catch((error: unknown) => log?.('warn', `index job ${this.id}: its state could not be saved: ${messageOf(error)}`))
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
      if (this.#cancelled) return await this.#end('cancelled', null)
      if (closing.aborted) return await this.save()
      const described = describedError(error)
      log?.('error', `index job ${this.id}: ${described.message}`)
      await this.#end(FINAL.includes(described.code) ? 'failed' : 'stopped', described)
    } finally {
      clearInterval(timer)
      closing.removeEventListener('abort', stop)
      await this.saved()
      this.#hasEnded()
    }
  }

  async #work(): Promise<void> {
    const { index, store, policy, log } = this.#options
    const { id, table, options, source } = this.job
    await removeStale({ dir: index.dir, table }, () => store.known(table), allModels(index))
    await store.takeReserve(id)
    const shardDir = source.place === true && source.path !== null ? await openShardDir(source.path) : undefined
    const model = await this.#model()
    const embedder = embedderOf(this.#options, model)
    const embed = bulkEmbed(embedder)
    const signal = this.#abort.signal
    try {
      await ensurePlan(this, shardDir, model, { ...this.#options, signal })
    } catch (error) {
      if (!(await this.#isEmptied(error))) throw error
      return await this.#end('done', null, { rows: await index.count(), recall: null })
    }
    const { rows, ann, supersededBy } = await runJob({
      dir: index.dir,
      table,
      model,
      embed,
      embedQuestions: bulkEmbed(embedder, 'query'),
      jobId: id,
      folder: store.folder(id),
      replace: options.replace ?? false,
      byContent: source.files !== undefined,
      policy,
      readyVectors: shardDir && vectorReader(shardDir),
      signal,
      onProgress: (state, counters, stage) => {
        if (stage === undefined) this.indexed(state, counters)
        else this.atStage(stage, { state, counters, rate: null })
      },
      onWarning: (message) => {
        log?.('warn', message)
        this.warn(message)
      },
    })
    if (supersededBy !== undefined) {
      const message = `Job ${supersededBy}, which was ordered later, has replaced the table: this one's passages are left out. To have them, order it anew.`
      return this.#end('cancelled', { code: 'conflict', message })
    }
    // Questions use the new table before the job is reported as done.
    await index.refresh()
    const gone = await this.#deleteMissing()
    const { keepBytes: maxBytes = 0 } = this.#options
    const evicted = await keepUploads(this.job, { index, store, maxBytes })
    if (evicted > 0 && maxBytes > 0)
      this.warn(`${evicted} uploaded ${evicted === 1 ? 'file is' : 'files are'} not kept: CEPE_KEEP_UPLOADS_MB is used up.`)
    await this.#end('done', null, { rows: rows - gone, recall: ann?.recall ?? null })
  }

  /** @returns the number of passages deleted */
  async #deleteMissing(): Promise<number> {
    const { files, source, options } = this.job
    // A new table contains no passages of earlier jobs.
    if (options.replace === true || source.files === undefined) return 0
    const gone = await deleteMissing(this.job, this.#options)
    if (files !== undefined && (gone.files > 0 || options.delete_missing === true)) this.change({ files: { ...files, gone } })
    return gone.passages
  }

  /** Whether a corpus is refused because none of its files has passages any more; deletes those that they had. */
  async #isEmptied(error: unknown): Promise<boolean> {
    const isAllowed = error instanceof CodedError && error.field === 'rejected' && leftOutShare(this.job.options) === 1
    if (!isAllowed || (await readAlias({ dir: this.#options.index.dir, table: this.job.table })) === undefined) return false
    return (await this.#deleteMissing()) > 0
  }

  /** The job's model if it creates a table or has vectors; otherwise the model of the live table, which may have been replaced since. */
  async #model(): Promise<EmbeddingModel> {
    const { index } = this.#options
    const { model, options, source } = this.job
    const models = allModels(index)
    const ordered = models.find(({ id }) => id === model) ?? models.find((one) => isBuildOf(model, one)) ?? index.model
    if (options.replace === true || source.place === true) return ordered
    if ((await readAlias({ dir: index.dir, table: this.job.table })) === undefined) return ordered
    await index.refresh()
    return index.writtenWith()
  }

  /**
   * Ends the job. The final state becomes visible once it is on disk. If the disk is full even after the job's space was freed, it
   * becomes visible at once, and is written as soon as there is space.
   */
  async #end(state: EndState, error: Job['error'], result: Job['result'] = null): Promise<void> {
    const { store, log, closing } = this.#options
    const final = moved(this.job, state, { error, result })
    for (let attempt = 1; ; attempt++) {
      try {
        await settle(this.job, state, this.#options)
        await this.saveEnd(final)
        this.change(final)
        return
      } catch (failed) {
        if (!isDiskFull(failed) || closing.aborted) throw failed
        if (attempt === 2) log?.('error', `index job ${this.id}: the disk is full, its state is kept in memory until there is room`)
        if (attempt > 1) this.change(final)
        if (attempt > 1) await sleep(SAVE_MS, undefined, { signal: closing }).catch(() => undefined)
        await store.giveReserve(this.id)
      }
      if (state === 'stopped' && this.#cancelled) return this.#end('cancelled', null)
    }
  }
}
