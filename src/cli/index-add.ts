import { Command } from 'commander'
import { createReadStream } from 'node:fs'
import { basename } from 'node:path'
import { CodedError } from '../../base/errors.ts'
import type { LeftOutFile } from '../jobs/folder/list.ts'
import type { Jobs } from '../jobs/contract.ts'
import type { Job, JobOptions } from '../jobs/schema.ts'
import type { UploadedFile } from '../jobs/upload/contract.ts'
import { checkArchive, checkDocuments, checkTable } from './check-corpus.ts'
import type { Corpus } from './corpus-files.ts'
import { follow } from './index-jobs.ts'
import { wholeNumber } from './numbers.ts'
import { jobOptions, withReadingOptions, type ReadingOptions } from './reading-options.ts'
import { tableOption } from './table-option.ts'
import { withIndexing } from './with-indexing.ts'

interface AddOptions extends ReadingOptions {
  readonly replace?: boolean
  readonly check?: boolean
  readonly table?: string
  readonly deleteMissing?: boolean
  readonly watch?: number | true
}

/** Seconds between two looks at what is watched. */
const WATCH_S = { byDefault: 2, least: 1, most: 3600 } as const

/** `cepe index add`: tables of passages, documents, and folders of both. */
export function addCommand(): Command {
  return withReadingOptions(new Command('add'))
    .description(
      'index documents (Markdown, HTML, PDF, text, DOCX, EPUB) and tables of passages (psgs_w100.tsv shape, CSV, JSON lines, a JSON array or Parquet; .gz and .zst too), or archives of them (.zip, .tar, .tar.gz)',
    )
    .argument('<files...>', 'or folders of such files; each table, and the documents of each folder, become a job')
    .option('--replace', 'replace the contents of the table with this corpus')
    .option('--delete-missing', 'delete passages of files that earlier runs found in the folder and this one does not')
    .option('--check', 'validate the files without indexing them')
    .option(
      '--watch [seconds]',
      `go on, and index what changes: look every so many seconds (${WATCH_S.byDefault}), until Ctrl-C or SIGTERM`,
      wholeNumber({ min: WATCH_S.least, max: WATCH_S.most }),
    )
    .addOption(tableOption())
    .action(async (given: string[], options: AddOptions) => {
      if (options.watch === undefined) {
        const corpus = await corpusOf(given, options)
        return options.check === true ? check(corpus, options) : add(corpus, options)
      }
      if (options.check === true || options.replace === true)
        throw new CodedError('options_invalid', '--watch goes with neither --check nor --replace: give one of them.', { field: '--watch' })
      // What is not there, or no corpus, is said before it is waited for.
      await corpusOf(given, options)
      const { watchCorpus } = await import('./watch-corpus.ts')
      return watchCorpus(given, {
        seconds: options.watch === true ? WATCH_S.byDefault : options.watch,
        corpus: () => corpusOf(given, options),
        add: (corpus, signal) => add(corpus, options, signal),
      })
    })
}

/** What the arguments name. @throws options_invalid where the options do not fit; as `corpusFiles` */
async function corpusOf(given: string[], options: AddOptions): Promise<Corpus> {
  const { corpusFiles } = await import('./corpus-files.ts')
  const corpus = await corpusFiles(given, options)
  if (options.replace === true && corpus.tables.length + corpus.documents.length + corpus.archives.length > 1)
    throw new CodedError(
      'options_invalid',
      '--replace takes one file, or one folder of documents: each of several would replace the one before. Join them, or add them.',
      { field: '--replace' },
    )
  if (options.deleteMissing === true && corpus.documents.length === 0)
    throw new CodedError('options_invalid', '--delete-missing is for folders of documents: there is none.', {
      field: '--delete-missing',
    })
  return corpus
}

async function add({ tables, documents, archives, leftOut }: Corpus, options: AddOptions, signal?: AbortSignal): Promise<void> {
  const order = addOptions(options)
  await withIndexing(options.table, 'embeds', async ({ jobs }) => {
    const work: { readonly name: string; readonly start: (jobs: Jobs) => Promise<Job> }[] = [
      ...tables.map((file) => ({ name: file, start: (jobs: Jobs) => jobs.addFile(file, order) })),
      ...documents.map(({ path, only }) => ({
        name: path,
        start: (jobs: Jobs) => jobs.addFolder(path, { ...order, ...(options.deleteMissing === true && { delete_missing: true }) }, only),
      })),
    ]
    for (const file of archives) work.push({ name: file, start: (jobs: Jobs) => jobs.addFiles({ files: [opened(file)], options: order }) })
    const done: Job[] = []
    for (const [i, { start }] of work.entries()) {
      signal?.throwIfAborted()
      const job = await follow(jobs, start(jobs), options.table, signal).catch((error: unknown) =>
        stoppedBefore(
          work.slice(i + 1).map(({ name }) => name),
          error,
        ),
      )
      done.push(job)
    }
    if (documents.length + archives.length + leftOut.length > 0) await summarise(done, leftOut, 'indexed')
  })
}

async function check({ tables, documents, archives, leftOut }: Corpus, options: AddOptions): Promise<void> {
  const order = addOptions(options)
  await withIndexing(options.table, 'embeds', async ({ index }) => {
    const files: Pick<Job, 'files'>[] = []
    for (const file of tables)
      files.push((await checkTable(file, order, index.model.dimension)) ? {} : { files: { indexed: 0, left_out: [] } })
    for (const source of documents) {
      const found = await checkDocuments(source, order, index.model.dimension)
      files.push({ files: found ?? { indexed: 0, left_out: [] } })
    }
    for (const archive of archives) {
      const found = await checkArchive(archive, order, index.model.dimension)
      files.push({ files: found ?? { indexed: 0, left_out: [] } })
    }
    if (documents.length + archives.length + leftOut.length > 0) await summarise(files, leftOut, 'fit to index')
  })
}

/** Says how many files went in over all jobs, and what was left out; a table is one file. */
async function summarise(jobs: readonly Pick<Job, 'files'>[], leftOut: readonly LeftOutFile[], verb: string): Promise<void> {
  const [{ describeFiles, joinedFiles }, { tallyOf }] = await Promise.all([
    import('../jobs/folder/describe.ts'),
    import('../jobs/folder/summary.ts'),
  ])
  const files = joinedFiles([...jobs.map(({ files }) => files ?? { indexed: 1, left_out: [] }), tallyOf(leftOut)])
  process.stdout.write(`${describeFiles(files, verb)}\n`)
}

/** An archive as an upload has it. */
function opened(file: string): UploadedFile {
  return { name: basename(file), bytes: createReadStream(file) }
}

/** A job that fails ends the command: says which files are left. */
function stoppedBefore(left: readonly string[], error: unknown): never {
  if (left.length > 0) process.stderr.write(`Not started: ${left.join(', ')}\n`)
  throw error
}

function addOptions(options: AddOptions): JobOptions {
  return { ...(options.replace === true && { replace: true }), ...jobOptions(options) }
}
