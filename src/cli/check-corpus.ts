import { createReadStream } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { CodedError, messageOf } from '../../base/errors.ts'
import type { CheckReport } from '../jobs/check.ts'
import type { FolderSource } from '../jobs/folder/read.ts'
import type { Files } from '../jobs/folder/summary.ts'
import type { JobOptions } from '../jobs/schema.ts'
import { loadConfig } from './load-config.ts'

const MB = 1e6

/** Says what a job of a table would meet; the exit status is 1 where it would fail. @returns whether it would not */
export async function checkTable(file: string, options: JobOptions, dimension: number): Promise<boolean> {
  const { checkFile } = await import('../jobs/check.ts')
  const report = await reported(file, checkFile(file, options, dimension))
  if (report === undefined) return false
  for (const { line: at, reason, detail } of report.rejects) process.stdout.write(`line ${at}: ${reason}: ${detail}\n`)
  return conclude(file, `${report.read} lines, ${report.rejected} rejected`, report)
}

/**
 * As `checkTable`, of documents.
 * @param name of the source, as it is printed
 * @returns how many files would be indexed, or undefined where the job would fail
 */
export async function checkDocuments(
  source: FolderSource,
  options: JobOptions,
  dimension: number,
  name = source.path,
): Promise<Files | undefined> {
  const { DOCUMENT_PARSE_MS: parseMs, DOCUMENT_MB } = await loadConfig()
  const [{ checkFolder }, { describeFiles }] = await Promise.all([import('../jobs/check.ts'), import('../jobs/folder/describe.ts')])
  const bounds = { parseMs, maxBytes: DOCUMENT_MB * 2 ** 20 }
  const report = await reported(name, checkFolder(source, options, bounds, dimension))
  if (report?.files === undefined) return undefined
  for (const { file, reason, detail } of report.rejects) process.stdout.write(`${file ?? ''}: ${reason}: ${detail}\n`)
  const passes = conclude(name, describeFiles(report.files, 'readable'), report)
  return passes ? report.files : undefined
}

/** As `checkDocuments`, of what is in an archive, which is opened for it in a folder that goes afterwards. */
export async function checkArchive(file: string, options: JobOptions, dimension: number): Promise<Files | undefined> {
  const [{ FileSpool }, { takeFiles }, { UPLOAD_LIMIT_MB }] = await Promise.all([
    import('../jobs/upload/spool.ts'),
    import('../jobs/upload/take.ts'),
    loadConfig(),
  ])
  const folder = await mkdtemp(path.join(tmpdir(), 'cepe-check-'))
  try {
    const spool = new FileSpool(folder)
    const opening = takeFiles(one({ name: path.basename(file), bytes: createReadStream(file) }), spool, UPLOAD_LIMIT_MB * 2 ** 20)
    if (
      (await reported(
        file,
        opening.then(() => true),
      )) === undefined
    )
      return undefined
    await spool.finish()
    return await checkDocuments({ path: folder, uploaded: true }, options, dimension, file)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function* one<Item>(item: Item): AsyncGenerator<Item> {
  await Promise.resolve()
  yield item
}

/** What was found, or that a job would fail, and why. */
async function reported<Found>(file: string, checking: Promise<Found>): Promise<Found | undefined> {
  const found = await checking.catch((error: unknown) => {
    if (!(error instanceof CodedError)) throw error
    return error
  })
  if (!(found instanceof CodedError)) return found
  process.stdout.write(`${file}: ${messageOf(found)}: a job would fail\n`)
  process.exitCode = 1
  return undefined
}

function conclude(file: string, found: string, { accepted, bytes, passes, warnings }: CheckReport): boolean {
  for (const warning of warnings) process.stdout.write(`${file}: ${warning}\n`)
  const size = `about ${Math.ceil(bytes / MB)} MB in the index`
  process.stdout.write(`${file}: ${found}, ${accepted} passages, ${size}: ${passes ? 'fit to index' : 'a job would fail'}\n`)
  if (!passes) process.exitCode = 1
  return passes
}
