import { CodedError } from '../../../base/errors.ts'
import type { EmbeddingModel } from '../../../index/contract.ts'
import { planCorpus, readPlan } from '../../../index/ingest/plan/plan.ts'
import { adoptPlan } from '../../../index/ingest/shard-dir/adopt-plan.ts'
import { checkShardDir } from '../../../index/ingest/shard-dir/check.ts'
import { checkShardDirModel, type ShardDir } from '../../../index/ingest/shard-dir/shard-dir.ts'
import { requireSpace } from '../../../index/ingest/space.ts'
import { describeFiles, FileTally, type Files } from '../folder/summary.ts'
import { DEFAULT_FILE_BOUNDS, leftOutShare } from '../folder/read.ts'
import { ReadingNotes } from '../reading.ts'
import { rejectedShare } from '../schema.ts'
import { DEFAULT_CRAWL, fetchPages } from '../web/fetch-pages.ts'
import { corpusOf } from './corpus.ts'
import type { JobRecord, JobRunOptions } from './record.ts'

type PlanOptions = JobRunOptions & { readonly signal: AbortSignal }

/** Plans a job's corpus unless an earlier run has. @param shardDir planned directory with vectors, whose plan is adopted */
export async function ensurePlan(
  record: JobRecord,
  shardDir: ShardDir | undefined,
  model: EmbeddingModel,
  options: PlanOptions,
): Promise<void> {
  const folder = options.store.folder(record.job.id)
  if ((await readPlan(folder)) !== undefined) return
  if (shardDir === undefined) return planSource(record, folder, options)
  // Checked before adoption only: afterwards the job uses its own copy of the plan.
  checkShardDirModel(shardDir, model)
  await checkShardDir(shardDir)
  const { read, rejected, accepted } = await adoptPlan(shardDir, folder)
  record.change({ counters: { ...record.job.counters, read, rejected, accepted } })
}

async function planSource(record: JobRecord, folder: string, options: PlanOptions): Promise<void> {
  const { shardRows, signal } = options
  const { options: ordered, source } = record.job
  const notes = new ReadingNotes()
  record.change({ state: 'planning' })
  await record.save()
  await takePages(record, options)
  let share = 0
  const ofFiles = source.files !== undefined
  const tally = new FileTally()
  const { bytes, items } = corpusOf(record.job, options, { signal, onShare: (done) => (share = done) })
  await requireSpace(folder, await bytes(), 'The copy of the corpus')
  const planned = planCorpus(tally.counting(notes.of(items())), {
    folder,
    maxRejectedShare: ofFiles ? leftOutShare(ordered) : rejectedShare(ordered),
    unit: ofFiles ? 'files' : 'lines',
    ...(shardRows && { shardRows }),
    signal,
    onProgress: (counts) => {
      const counters = { ...record.job.counters, ...counts }
      const part = { counters, ...(ofFiles && { files: tally.files }), recent_rejects: [...notes.rejects] }
      record.atStage({ name: 'reading the source', share }, part)
    },
  })
  await planned.catch((error: unknown) => {
    if (!ofFiles) throw error
    record.change({ files: tally.files, recent_rejects: notes.rejects })
    throw withFiles(error, tally.files)
  })
  const warnings = [...record.job.warnings, ...notes.warnings]
  record.change({ ...(ofFiles && { files: tally.files }), recent_rejects: notes.rejects, warnings })
  await record.save()
}

/** Fetches the web pages of a job into its folder, from which they are read like an upload. */
async function takePages(record: JobRecord, options: PlanOptions): Promise<void> {
  const { web } = record.job.source.files ?? {}
  if (web === undefined) return
  const { index, store, crawl: settings = DEFAULT_CRAWL, fileBounds: bounds = DEFAULT_FILE_BOUNDS, signal } = options
  const onShare = (share: number): void => {
    record.atStage({ name: 'fetching pages', share }, {})
  }
  await fetchPages(record.job, web, { index, store, settings, bounds, signal, onShare })
}

/** Adds the counts of left-out files to an error of the corpus. */
function withFiles(error: unknown, files: Files): unknown {
  if (!(error instanceof CodedError) || error.code !== 'corpus_invalid') return error
  return new CodedError('corpus_invalid', `${error.message} (${describeFiles(files, 'readable')}.)`, { field: error.field, cause: error })
}
