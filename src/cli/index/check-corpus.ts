import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { CodedError, messageOf } from '../../../base/errors.ts'
import { fileBytes } from '../../../base/files.ts'
import type { ReadItem } from '../../../index/read/contract.ts'
import type { Checking, CheckReport } from '../../jobs/check.ts'
import type { FolderSource } from '../../jobs/sources/read.ts'
import type { Files, WebSource } from '../../jobs/record/schema.ts'
import { interruptibleAtOnce } from '../program/interrupted.ts'
import { loadConfig } from '../program/run-program.ts'

const MB = 1e6

/** What is said of a file that cannot be indexed, and whether the command fails by it. */
export interface Verdict {
  readonly words: string
  readonly fails: boolean
}
const FAILS: Verdict = { words: 'a job would fail', fails: true }
/** Of a file beside documents that proves to be no table. */
export const SKIPPED: Verdict = { words: 'it would be skipped', fails: false }

/** Prints what a job of a table would find; sets exit status 1 if it would fail. @returns whether it would succeed */
export async function checkTable(file: string, checking: Checking, verdict = FAILS): Promise<boolean> {
  const { checkFile } = await import('../../jobs/check.ts')
  const report = await reported(file, checkFile(file, checking), verdict)
  if (report === undefined) return false
  for (const { line: at, reason, detail } of report.rejects) process.stdout.write(`line ${at}: ${reason}: ${detail}\n`)
  return conclude(file, `${report.read} lines, ${report.rejected} rejected`, report, verdict)
}

/**
 * As `checkTable`, for documents.
 * @param name displayed name of the source
 * @returns the number of files that would be indexed, or undefined if the job would fail
 */
export async function checkDocuments(source: FolderSource, checking: Checking, name = source.path): Promise<Files | undefined> {
  const [{ checkFolder }, { describeFiles }, { documentBounds }, config] = await Promise.all([
    import('../../jobs/check.ts'),
    import('../../jobs/sources/summary.ts'),
    import('../../config.ts'),
    loadConfig(),
  ])
  const report = await reported(name, checkFolder(source, documentBounds(config), checking))
  if (report === undefined) return undefined
  for (const { file, reason, detail } of report.rejects) process.stdout.write(`${file ?? ''}: ${reason}: ${detail}\n`)
  const passes = conclude(name, describeFiles(report.files, 'readable'), report)
  return passes ? report.files : undefined
}

/** As `checkDocuments`, for an archive, which is extracted to a temporary folder. */
export async function checkArchive(file: string, checking: Checking): Promise<Files | undefined> {
  const [{ FileSpool }, { takeFiles }, { UPLOAD_LIMIT_MB }] = await Promise.all([
    import('../../jobs/sources/spool.ts'),
    import('../../jobs/sources/take.ts'),
    loadConfig(),
  ])
  return inTemporaryFolder(async (folder) => {
    const spool = new FileSpool(folder)
    const opening = takeFiles([{ name: path.basename(file), bytes: fileBytes(file) }], spool, UPLOAD_LIMIT_MB * 2 ** 20)
    const taken = opening.then(() => true)
    if ((await reported(file, taken)) === undefined) return undefined
    await spool.finish()
    return checkDocuments({ path: folder, uploaded: true }, checking, file)
  })
}

/** Runs work with a temporary folder. */
async function inTemporaryFolder<Result>(work: (folder: string) => Promise<Result>): Promise<Result> {
  const folder = await mkdtemp(path.join(tmpdir(), 'cepe-check-'))
  try {
    return await work(folder)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** As `checkDocuments`, of pages of the web, which are fetched for it into a folder that goes afterwards. */
export async function checkPages(web: WebSource, checking: Checking): Promise<Files | undefined> {
  const [{ FileSpool }, { checkedAddresses, fetchInto }, { crawlSettings }, { documentBounds }, config] = await Promise.all([
    import('../../jobs/sources/spool.ts'),
    import('../../jobs/sources/fetch-pages.ts'),
    import('../../service/indexing.ts'),
    import('../../config.ts'),
    loadConfig(),
  ])
  const urls = checkedAddresses(web)
  return inTemporaryFolder(async (folder) => {
    const spool = new FileSpool(folder)
    const bounds = documentBounds(config)
    await interruptibleAtOnce(
      () => fetchInto(spool, { ...web, urls }, { settings: crawlSettings(config), bounds, signal: new AbortController().signal }),
      'Interrupted; nothing was indexed.',
    )
    await spool.finish()
    return checkDocuments({ path: folder, uploaded: true }, checking, urls.join(', '))
  })
}

/** Prints a passage as it would be indexed. */
export function showPassage(item: ReadItem): void {
  if ('reason' in item) return
  const { id, title, text, metadata } = item.passage
  const page = metadata?.page === undefined ? '' : ` (page ${String(metadata.page)})`
  process.stdout.write(`--- ${id}${page}\n${title}\n${text}\n\n`)
}

/** Prints the result, or why a job would fail. */
async function reported<Found>(file: string, checking: Promise<Found>, verdict = FAILS): Promise<Found | undefined> {
  const found = await checking.catch((error: unknown) => {
    if (!(error instanceof CodedError)) throw error
    return error
  })
  if (!(found instanceof CodedError)) return found
  process.stdout.write(`${file}: ${messageOf(found)}: ${verdict.words}\n`)
  if (verdict.fails) process.exitCode = 1
  return undefined
}

function conclude(file: string, found: string, { accepted, bytes, passes, warnings }: CheckReport, verdict = FAILS): boolean {
  for (const warning of warnings) process.stdout.write(`${file}: ${warning}\n`)
  const size = `about ${Math.ceil(bytes / MB)} MB in the index`
  process.stdout.write(`${file}: ${found}, ${accepted} passages, ${size}: ${passes ? 'fit to index' : verdict.words}\n`)
  if (!passes && verdict.fails) process.exitCode = 1
  return passes
}
