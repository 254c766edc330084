import { setTimeout as sleep } from 'node:timers/promises'
import { CodedError, messageOf, type ErrorCode } from '../../../base/errors.ts'
import { describedError, isDiskFull } from '../../../base/failures.ts'
import { allModels, isBuildOf, type EmbeddingModel } from '../../../index/contract.ts'
import { removeStale } from '../../../index/ingest/remove-stale.ts'
import { abandonJob, runJob } from '../../../index/ingest/run.ts'
import { openShardDir, vectorsOf } from '../../../index/ingest/shard-dir/shard-dir.ts'
import { readVectorFile } from '../../../index/ingest/shard-dir/vector-file.ts'
import type { PassageIndex } from '../../../index/passage-index.ts'
import { readAlias } from '../../../index/versions/alias.ts'
import { unwatchChanges } from '../../../index/writers/change-log.ts'
import { bulkEmbed } from '../../inference/bulk-embed.ts'
import { embedderOf } from '../../inference/contract.ts'
import { deleteMissing } from '../sources/missing.ts'
import { keepUploads } from '../kept/kept-files.ts'
import { isFinal, moved, rejectedShare, type Job, type JobState } from '../record/schema.ts'
import { ensurePlan } from './plan-job.ts'
import type { JobRunParts, LiveJob } from './live-job.ts'

const SAVE_MS = 1000
/** Errors of the corpus or the options: the job fails. After any other error it stops and can be resumed. */
const FINAL: readonly ErrorCode[] = ['corpus_invalid', 'invalid_request', 'not_found', 'payload_too_large', 'unsupported_media_type']

/** Frees what a job took that ended in a state, space first. A stopped one keeps all. */
async function settle({ id, table }: Job, state: JobState, { index, store }: Pick<JobRunParts, 'index' | 'store'>): Promise<void> {
  if (state === 'stopped') return
  await store.dropShards(id)
  if (state === 'done') await unwatchChanges({ dir: index.dir, table }, id)
  else await abandonJob({ dir: index.dir, table, jobId: id })
  await store.giveReserve(id)
}

/** Cancels a job that does not run: removes its copy of the corpus and the table it was building. */
export async function cancelStopped(job: Job, options: Pick<JobRunParts, 'index' | 'store'>): Promise<void> {
  await settle(job, 'cancelled', options)
  await options.store.save(moved(job, 'cancelled'))
}

interface Outcome extends Partial<Pick<Job, 'error' | 'result'>> {
  readonly state: 'done' | 'failed' | 'stopped' | 'cancelled'
}

/** Runs or resumes one job. Resolves when it has ended or stopped and its state is on disk. The caller must hold the job lock. */
export async function runLive(live: LiveJob, parts: JobRunParts): Promise<void> {
  const { store, closing, log } = parts
  const { id, state } = live.job
  if (isFinal(state)) return
  const timer = setInterval(() => {
    live.save().catch((error: unknown) => log?.('warn', `index job ${id}: its state could not be saved: ${messageOf(error)}`))
    store.cancelRequested(id).then(
      (wanted) => (wanted ? live.cancel() : undefined),
      () => undefined,
    )
  }, SAVE_MS)
  try {
    if (await store.cancelRequested(id)) live.cancel()
    live.cancelled.throwIfAborted()
    closing.throwIfAborted()
    await end(live, parts, await work(live, parts))
  } catch (error) {
    if (live.cancelled.aborted) return await end(live, parts, { state: 'cancelled' })
    if (closing.aborted) return await live.save()
    const described = describedError(error)
    log?.('error', `index job ${id}: ${described.message}`)
    await end(live, parts, { state: FINAL.includes(described.code) ? 'failed' : 'stopped', error: described })
  } finally {
    clearInterval(timer)
    await live.saved()
  }
}

async function work(live: LiveJob, parts: JobRunParts): Promise<Outcome> {
  const { index, store, policy, log, keepBytes: maxBytes } = parts
  const { id, table, options, source } = live.job
  await removeStale({ dir: index.dir, table }, () => store.known(table), allModels(index))
  await store.takeReserve(id)
  const shardDir = source.place === true && source.path !== null ? await openShardDir(source.path) : undefined
  const model = await modelOf(live.job, index)
  const embedder = embedderOf(parts, model)
  const signal = AbortSignal.any([live.cancelled, parts.closing])
  try {
    await ensurePlan(live, shardDir, model, { ...parts, signal })
  } catch (error) {
    if (!(await isEmptied(error, live, parts))) throw error
    return { state: 'done', result: { rows: await index.count(), recall: null } }
  }
  const { rows, ann, supersededBy } = await runJob({
    dir: index.dir,
    table,
    model,
    embed: bulkEmbed(embedder),
    embedQuestions: bulkEmbed(embedder, 'query'),
    jobId: id,
    folder: store.folder(id),
    replace: options.replace ?? false,
    byContent: source.files !== undefined,
    policy,
    readyVectors: shardDir && ((shard, rows) => readVectorFile(vectorsOf(shardDir, shard), rows)),
    signal,
    onProgress: (state, counters, stage) => live.report({ state, counters, stage: stage ?? null }),
    onWarning: (message) => {
      log?.('warn', message)
      live.warn(message)
    },
  })
  if (supersededBy !== undefined) {
    const message = `Job ${supersededBy}, which was ordered later, has replaced the table: this one's passages are left out. To have them, order it anew.`
    return { state: 'cancelled', error: { code: 'conflict', message } }
  }
  // Questions use the new table before the job is reported as done.
  await index.refresh()
  const gone = await deleteGone(live, parts)
  const evicted = await keepUploads(live.job, { index, store, maxBytes }).catch((error: unknown) => {
    if (!(error instanceof CodedError)) throw error
    live.warn(`The uploaded files are not kept: ${error.message}`)
    return 0
  })
  if (evicted > 0 && maxBytes > 0)
    live.warn(`${evicted} uploaded ${evicted === 1 ? 'file is' : 'files are'} not kept: CEPE_KEEP_UPLOADS_MB is used up.`)
  return { state: 'done', result: { rows: rows - gone, recall: ann?.recall ?? null } }
}

/** @returns the number of passages deleted */
async function deleteGone(live: LiveJob, parts: JobRunParts): Promise<number> {
  const { files, source, options } = live.job
  // A new table contains no passages of earlier jobs.
  if (options.replace === true || source.files === undefined) return 0
  const gone = await deleteMissing(live.job, parts)
  if (files !== undefined && (gone.files > 0 || options.delete_missing === true)) live.change({ files: { ...files, gone } })
  return gone.passages
}

/** Whether a corpus is refused because none of its files has passages any more; deletes those that they had. */
async function isEmptied(error: unknown, live: LiveJob, parts: JobRunParts): Promise<boolean> {
  const { options, table } = live.job
  const isAllowed = error instanceof CodedError && error.field === 'rejected' && rejectedShare(options, 1) === 1
  if (!isAllowed || (await readAlias({ dir: parts.index.dir, table })) === undefined) return false
  return (await deleteGone(live, parts)) > 0
}

/** The job's model if it creates a table or has vectors; otherwise the model of the live table, which may have been replaced since. */
async function modelOf({ model, table, options, source }: Job, index: PassageIndex): Promise<EmbeddingModel> {
  const models = allModels(index)
  const ordered = models.find(({ id }) => id === model) ?? models.find((one) => isBuildOf(model, one)) ?? index.model
  if (options.replace === true || source.place === true) return ordered
  if ((await readAlias({ dir: index.dir, table })) === undefined) return ordered
  await index.refresh()
  return index.writtenWith()
}

/**
 * Ends the job. The final state becomes visible once it is on disk. If the disk is full even after the job's space was freed, it becomes
 * visible at once, and is written as soon as there is space.
 */
async function end(live: LiveJob, parts: JobRunParts, { state, error = null, result = null }: Outcome): Promise<void> {
  const { store, log, closing } = parts
  const { id } = live.job
  const final = moved(live.job, state, { error, result })
  for (let attempt = 1; ; attempt++) {
    try {
      await settle(live.job, state, parts)
      await live.save(final)
      live.change(final)
      return
    } catch (failed) {
      if (!isDiskFull(failed) || closing.aborted) throw failed
      if (attempt === 2) log?.('error', `index job ${id}: the disk is full, its state is kept in memory until there is room`)
      if (attempt > 1) live.change(final)
      if (attempt > 1) await sleep(SAVE_MS, undefined, { signal: closing }).catch(() => undefined)
      await store.giveReserve(id)
    }
    if (state === 'stopped' && live.cancelled.aborted) return end(live, parts, { state: 'cancelled' })
  }
}
