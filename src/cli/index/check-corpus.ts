import { counted, sizeText } from '../../../base/at.ts'
import path from 'node:path'
import { CodedError, reasonOf } from '../../../base/errors.ts'
import { fileBytes } from '../../../base/files.ts'
import { workFolder } from '../../../base/locks/scratch.ts'
import { eventLoopTurn } from '../../../base/event-loop-turn.ts'
import { corpusCounts, refusalOf } from '../../../index/ingest/plan/plan.ts'
import { tableBytes } from '../../../index/ingest/space.ts'
import type { ReadItem } from '../../../index/read/contract.ts'
import { readPassageFile } from '../../../index/read/read.ts'
import { documentBounds, loadConfig } from '../../config.ts'
import { type Files, type JobOptions, rejectedShare, type WebSource } from '../../jobs/record/schema.ts'
import { checkedAddresses, fetchInto } from '../../jobs/sources/fetch-pages.ts'
import { filesOf, type FolderSource, readFiles } from '../../jobs/sources/read.ts'
import { checkOptions, corpusReadOptions, ReadingNotes } from '../../jobs/sources/reading.ts'
import { FileSpool } from '../../jobs/sources/spool.ts'
import { describeFiles } from '../../jobs/sources/summary.ts'
import { takeFiles } from '../../jobs/sources/take.ts'
import { crawlSettings } from '../../service/indexing.ts'
import { interruptibleAtOnce } from '../program/interrupted.ts'
import { print, shown } from '../program/shown.ts'
import type { Source } from './corpus-files.ts'

/** What is said of a file that cannot be indexed, and whether the command fails by it. */
const FAILS = { words: 'a job would fail', fails: true }
/** Of a file beside documents that proves to be no table. */
const SKIPPED = { words: 'it would be skipped', fails: false }

/**
 * Prints what a job of a source would find; sets exit status 1 if it would fail.
 * @param web options of fetching pages
 * @param maySkip whether a file that is no table fails nothing
 * @returns files that would be indexed; undefined if the job would fail
 * @throws as checkOptions, for the whole command
 */
export async function checkSource(
  source: Source,
  checking: Checking,
  web: Omit<WebSource, 'urls'>,
  maySkip: boolean,
): Promise<Files | undefined> {
  checkOptions({ path: source.path, ...(source.kind === 'pages' && { files: { web: { urls: source.urls } } }) }, checking.options)
  switch (source.kind) {
    case 'table':
      return checkTable(source.path, checking, maySkip ? SKIPPED : FAILS)
    case 'documents':
      return checkDocuments(source, checking)
    case 'archive':
      return checkArchive(source.path, checking)
    case 'pages':
      return checkPages({ ...web, urls: source.urls }, checking)
  }
}

async function checkTable(file: string, checking: Checking, verdict: typeof FAILS): Promise<Files | undefined> {
  const { options } = checking
  const items = readPassageFile(file, corpusReadOptions(options, path.basename(file)))
  const report = await reported(file, checkItems(items, rejectedShare(options), checking), verdict)
  if (report === undefined) return undefined
  for (const { line: at, reason, detail } of report.rejects) printLine(`line ${at}: ${reason}: ${detail}`)
  const passes = conclude(file, `${counted(report.read, 'line')}, ${report.rejected} rejected`, report, verdict)
  return passes ? { indexed: 1, left_out: [] } : undefined
}

/** @param name displayed name of the source */
async function checkDocuments(source: FolderSource, checking: Checking, name = source.path): Promise<Files | undefined> {
  const { options } = checking
  const reading = { options, bounds: documentBounds(loadConfig()), signal: new AbortController().signal }
  const found = filesOf(source).then((files) => checkItems(readFiles(files, reading), rejectedShare(options, 1), checking))
  const report = await reported(name, found)
  if (report === undefined) return undefined
  for (const { file, reason, detail } of report.rejects) printLine(`${file ?? ''}: ${reason}: ${detail}`)
  const passes = conclude(name, describeFiles(report.files, 'readable'), report)
  return passes ? report.files : undefined
}

async function checkArchive(file: string, checking: Checking): Promise<Files | undefined> {
  await using folder = await workFolder()
  const spool = new FileSpool(folder.path)
  const opening = takeFiles([{ name: path.basename(file), bytes: fileBytes(file) }], spool, loadConfig().UPLOAD_LIMIT_MB * 2 ** 20)
  const taken = opening.then(() => true)
  if ((await reported(file, taken)) === undefined) return undefined
  await spool.finish()
  return await checkDocuments({ path: folder.path, uploaded: true }, checking, file)
}

async function checkPages(web: WebSource, checking: Checking): Promise<Files | undefined> {
  const urls = checkedAddresses(web)
  const config = loadConfig()
  await using folder = await workFolder()
  const spool = new FileSpool(folder.path)
  const bounds = documentBounds(config)
  await interruptibleAtOnce(
    () => fetchInto(spool, { ...web, urls }, { settings: crawlSettings(config), bounds, signal: new AbortController().signal }),
    'Interrupted; nothing was indexed.',
  )
  await spool.finish()
  return await checkDocuments({ path: folder.path, uploaded: true }, checking, urls.join(', '))
}

/** Prints a passage as it would be indexed. */
export async function showPassage(item: ReadItem): Promise<void> {
  if ('reason' in item) return
  const { id, title, text, metadata } = item.passage
  const page = metadata?.page === undefined ? '' : ` (page ${String(metadata.page)})`
  await print(`--- ${id}${page}\n${title}\n${text}\n\n`)
}

function printLine(text: string): void {
  void print(`${shown(text)}\n`)
}

/** Prints why a job would fail. @returns what was found otherwise */
async function reported<Found>(file: string, checking: Promise<Found>, verdict = FAILS): Promise<Found | undefined> {
  try {
    return await checking
  } catch (error) {
    if (!(error instanceof CodedError)) throw error
    printLine(`${file}: ${reasonOf(error)}: ${verdict.words}`)
    if (verdict.fails) process.exitCode = 1
    return undefined
  }
}

function conclude(file: string, found: string, { accepted, bytes, passes, warnings }: CheckReport, verdict = FAILS): boolean {
  for (const warning of warnings) printLine(`${file}: ${warning}`)
  const size = `about ${sizeText(bytes, Math.ceil)} in the index`
  printLine(`${file}: ${found}, ${counted(accepted, 'passage')}, ${size}: ${passes ? 'fit to index' : verdict.words}`)
  if (!passes && verdict.fails) process.exitCode = 1
  return passes
}

/** Result of a dry run: numbers of lines and passages, the latest rejected lines, and fields that would be dropped. */
type CheckReport = Awaited<ReturnType<typeof checkItems>>

interface Checking {
  readonly options: JobOptions
  /** Numbers per vector. */
  readonly dimension: number
  readonly onItem?: ((item: ReadItem) => Promise<void>) | undefined
}

/** Validates a corpus as a job would, without writing anything. @throws corpus_invalid, payload_too_large */
async function checkItems(items: AsyncIterable<ReadItem>, share: number, { dimension, onItem }: Checking) {
  const notes = new ReadingNotes()
  const turn = eventLoopTurn()
  const { counts, add } = corpusCounts()
  let text = 0
  for await (const item of notes.of(items)) {
    if (turn.isOver()) await turn.next()
    await onItem?.(item)
    add(item)
    if ('passage' in item) text += Buffer.byteLength(item.passage.text) + item.passage.title.length
  }
  const { rejects, warnings, files } = notes
  const bytes = tableBytes(text, counts.accepted, dimension)
  const passes = refusalOf(counts, { maxRejectedShare: share }) === undefined
  return { ...counts, rejects, warnings, files, bytes, passes }
}
