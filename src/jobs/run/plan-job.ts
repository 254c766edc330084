import { CodedError, invalidCorpus } from '../../../base/errors.ts'
import type { EmbeddingModel, Passage } from '../../../index/contract.ts'
import { jobFiles } from '../../../index/ingest/plan/contract.ts'
import { planCorpus, readPlan } from '../../../index/ingest/plan/plan.ts'
import { livePassages, textBytes } from '../../../index/ingest/reembed.ts'
import { adoptPlan, checkShardDir, checkShardDirModel, type ShardDir } from '../../../index/ingest/shard-dir/shard-dir.ts'
import { planBytes, requireSpace } from '../../../index/ingest/space.ts'
import type { ReadItem } from '../../../index/read/contract.ts'
import { readPassageFile } from '../../../index/read/read.ts'
import { noteFiles, noteListed, requireListed } from '../sources/missing.ts'
import { filesOf, readFiles } from '../sources/read.ts'
import { describeFiles } from '../sources/summary.ts'
import { corpusReadOptions, ReadingNotes } from '../sources/reading.ts'
import { type Job, rejectedShare } from '../record/schema.ts'
import { fetchPages } from '../sources/fetch-pages.ts'
import type { JobRunParts, LiveJob } from './live-job.ts'

type PlanParts = JobRunParts & { readonly signal: AbortSignal }

/**
 * Opens the corpus of a job. Uploaded and fetched files must be in its folder.
 * @param onShare called with the share of the source read so far, 0 to 1
 * @returns its items, and the estimated bytes of the plan on disk
 * @throws internal if the files are missing
 */
async function corpusOf(
  { id, table, options, source: { path, name, reembed, files } }: Job,
  { index, store, fileBounds: bounds, signal }: PlanParts,
  onShare: (share: number) => void,
): Promise<{ readonly bytes: number; readonly items: AsyncIterable<ReadItem> }> {
  const live = { dir: index.dir, table }
  if (reembed === true) return { bytes: await textBytes(live), items: livePassages(live) }
  const isKept = files?.uploaded === true || files?.web !== undefined
  const folder = isKept ? jobFiles(store.folder(id)).uploads : path
  if (folder === null) throw new CodedError('internal', 'The upload was not planned to its end: send it again.')
  if (files === undefined)
    return { bytes: await planBytes(folder), items: readPassageFile(folder, { ...corpusReadOptions(options, name), onShare }) }
  const listed = await filesOf({ path: folder, ...files, uploaded: isKept })
  // The list of pages was recorded when they were fetched.
  if (files.web === undefined) await noteFiles(store.folder(id), listed, options.label)
  const stored = (page: string): AsyncIterable<Passage> => index.export({ source: [page] })
  const items = async function* (): AsyncGenerator<ReadItem> {
    const emptied: string[] = []
    yield* readFiles(listed, { options, bounds, signal, onShare, stored, onEmptied: (file) => emptied.push(file) })
    // Before the plan is complete: a resumed job does not read the files again.
    if (emptied.length > 0) await noteListed(store.folder(id), { ...(await requireListed(store.folder(id))), emptied })
  }
  return { bytes: listed.reduce((sum, file) => sum + ('bytes' in file ? file.bytes : 0), 0), items: items() }
}

/** Plans a job's corpus unless an earlier run has. @param shardDir planned directory with vectors, whose plan is adopted */
export async function ensurePlan(record: LiveJob, shardDir: ShardDir | undefined, model: EmbeddingModel, parts: PlanParts): Promise<void> {
  const folder = parts.store.folder(record.job.id)
  if ((await readPlan(folder)) !== undefined) return
  if (shardDir === undefined) return planSource(record, folder, parts)
  // Checked before adoption only: afterwards the job uses its own copy of the plan.
  checkShardDirModel(shardDir, model)
  await checkShardDir(shardDir)
  const { read, rejected, accepted } = await adoptPlan(shardDir, folder)
  record.change({ counters: { ...record.job.counters, read, rejected, accepted } })
}

async function planSource(record: LiveJob, folder: string, parts: PlanParts): Promise<void> {
  const { index, store, crawl: settings, fileBounds: bounds, shardRows, signal } = parts
  const { options, source } = record.job
  const web = source.files?.web
  const notes = new ReadingNotes()
  record.change({ state: 'planning' })
  await record.save()
  if (web !== undefined) {
    const onShare = (share: number): void => record.report({ stage: { name: 'fetching pages', share } })
    await fetchPages(record.job, web, { index, store, settings, bounds, signal, onShare })
  }
  let share = 0
  const ofFiles = source.files !== undefined
  const noted = () => ({ ...(ofFiles && { files: notes.files }), recent_rejects: [...notes.rejects] })
  const { bytes, items } = await corpusOf(record.job, parts, (done) => (share = done))
  await requireSpace(folder, bytes, 'The copy of the corpus')
  const planned = planCorpus(notes.of(items), {
    folder,
    maxRejectedShare: rejectedShare(options, ofFiles ? 1 : undefined),
    unit: ofFiles ? 'files' : 'lines',
    ...(shardRows && { shardRows }),
    signal,
    onProgress: (counts) =>
      record.report({ counters: { ...record.job.counters, ...counts }, stage: { name: 'reading the source', share }, ...noted() }),
  })
  await planned.catch((error: unknown) => {
    record.change(noted())
    if (!ofFiles || !(error instanceof CodedError) || error.code !== 'corpus_invalid') throw error
    throw invalidCorpus(error.field, `${error.message} (${describeFiles(notes.files, 'readable')}.)`, error)
  })
  record.change({ ...noted(), warnings: [...record.job.warnings, ...notes.warnings] })
  await record.save()
}
