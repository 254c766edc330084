import { Command, Option } from 'commander'
import { basename } from 'node:path'
import { CodedError } from '../../../base/errors.ts'
import { fileBytes } from '../../../base/files.ts'
import { WORD_LANGUAGES, type WordLanguage } from '../../../index/word-languages.ts'
import type { LeftOutFile } from '../../jobs/sources/list.ts'
import type { Job, JobOptions, WebSource } from '../../jobs/record/schema.ts'
import { checkArchive, checkDocuments, checkPages, checkTable, showPassage, SKIPPED } from './check-corpus.ts'
import type { Corpus } from './corpus-files.ts'
import { follow, withIndexing } from './jobs.ts'
import { wholeNumber, collectionOption } from '../program/options.ts'
import { jobOptions, tableOptionOf, withReadingOptions, type ReadingOptions } from './reading-options.ts'

interface AddOptions extends ReadingOptions {
  readonly replace?: boolean
  readonly check?: boolean
  readonly show?: boolean
  readonly collection?: string
  readonly language?: WordLanguage
  readonly deleteMissing?: boolean
  readonly allowPrivate?: boolean
  readonly watch?: number | true
}

/** Seconds between two polls of watched files. */
const WATCH_S = { byDefault: 2, least: 1, most: 3600 } as const

/** `cepe index add`: tables of passages, documents, and folders of both. */
export function addCommand(): Command {
  return withReadingOptions(new Command('add'))
    .description(
      'index documents (text, Markdown, HTML, PDF, Office, OpenDocument, EPUB, e-mail, source code), tables (TSV, CSV, JSON lines or array, Parquet; .gz, .zst) or archives (.zip, .tar, .tar.gz)',
    )
    .argument(
      '<files...>',
      'or folders of such files, or addresses (https://...) of pages and sitemaps; each table, the documents of each folder, and all addresses become a job',
    )
    .option('--replace', 'replace the contents of the collection with this corpus')
    .addOption(
      new Option(
        '--language <code>',
        'make the collection with stems of this language for text search; default: the language of most texts',
      ).choices(WORD_LANGUAGES),
    )
    .option('--delete-missing', 'delete passages of files that an earlier run found in the folder and this one does not')
    .option('--allow-private', 'fetch pages of private networks and this machine too')
    .option('--check', 'validate the files without indexing them')
    .option('--show', 'print the passages of the files without indexing them')
    .option(
      '--watch [seconds]',
      `keep running and index changes, polling at this interval in seconds (default ${WATCH_S.byDefault}), until Ctrl-C or SIGTERM`,
      wholeNumber({ min: WATCH_S.least, max: WATCH_S.most }),
    )
    .addOption(collectionOption())
    .action(async (given: string[], options: AddOptions) => {
      if (options.watch === undefined) {
        const corpus = await corpusOf(given, options)
        if (isDryRun(options)) return check(corpus, options)
        await make(options)
        return add(corpus, options)
      }
      if (isDryRun(options) || options.replace === true)
        throw new CodedError('options_invalid', '--watch goes with none of --check, --show and --replace: give one of them.', {
          field: '--watch',
        })
      // Missing files and unsupported ones are reported before waiting for anything.
      await corpusOf(given, options)
      await make(options)
      const { watchCorpus } = await import('./watch-corpus.ts')
      return watchCorpus(given, {
        seconds: options.watch === true ? WATCH_S.byDefault : options.watch,
        corpus: () => corpusOf(given, options),
        add: (corpus, signal) => add(corpus, options, signal),
      })
    })
}

function isDryRun({ check, show }: AddOptions): boolean {
  return check === true || show === true
}

/** Makes the collection in the language of the options. @throws options_invalid if the collection exists */
async function make({ collection, language }: AddOptions): Promise<void> {
  if (language === undefined) return
  await withIndexing(collection, 'embeds', async ({ index, collections }) => {
    if (await collections.create(index.table, language)) return
    const problem = `The collection "${index.table}" exists, and its language is chosen when it is made`
    throw new CodedError('options_invalid', `${problem}: leave --language out, or name a new collection.`, { field: '--language' })
  })
}

/** The corpus of the arguments. @throws options_invalid for conflicting options; as `corpusFiles` */
async function corpusOf(given: string[], options: AddOptions): Promise<Corpus> {
  const { corpusFiles } = await import('./corpus-files.ts')
  const corpus = await corpusFiles(given, options)
  const { tables, documents, archives, pages } = corpus
  if (options.watch !== undefined && pages.length > 0)
    throw new CodedError('options_invalid', '--watch follows files and folders: run the command again to fetch pages again.', {
      field: '--watch',
    })
  if (options.replace === true && tables.length + documents.length + archives.length + Math.min(1, pages.length) > 1)
    throw new CodedError(
      'options_invalid',
      '--replace takes one file, or one folder of documents: each of several would replace the one before. Join them, or add them.',
      { field: '--replace' },
    )
  const unused = tables.length + archives.length > 0 ? undefined : tableOptionOf(options)
  if (unused !== undefined)
    throw new CodedError(
      'options_invalid',
      `${unused} applies to tables, and there is none: leave it out, or give --format with a table.`,
      { field: unused },
    )
  if (options.deleteMissing === true && documents.length + pages.length === 0)
    throw new CodedError('options_invalid', '--delete-missing requires a folder of documents or addresses of web pages.', {
      field: '--delete-missing',
    })
  return corpus
}

async function add(corpus: Corpus, options: AddOptions, signal?: AbortSignal): Promise<void> {
  const { tables, besideDocuments, documents, archives, pages } = corpus
  const leftOut = [...corpus.leftOut]
  const order = addOptions(options)
  const withMissing = { ...order, ...(options.deleteMissing === true && { delete_missing: true }) }
  await withIndexing(options.collection, 'embeds', async ({ jobs }) => {
    const work = [
      ...tables.map((file) => ({ name: file, start: () => jobs.addFile(file, order) })),
      ...documents.map(({ path, only }) => ({ name: path, start: () => jobs.addFolder(path, withMissing, only) })),
      ...archives.map((file) => ({
        name: file,
        start: () => jobs.addFiles({ files: [{ name: basename(file), bytes: fileBytes(file) }], options: order }),
      })),
      ...pages.slice(0, 1).map((page) => ({ name: page, start: () => jobs.addPages(webSource(pages, options), withMissing) })),
    ]
    const done: Job[] = []
    const indexed: string[] = []
    const failed: string[] = []
    for (const [i, { name, start }] of work.entries()) {
      signal?.throwIfAborted()
      const job = await follow(jobs, start(), options.collection, signal).catch((error: unknown) => {
        // A file of a folder of documents may be no table, as package.json. One damaged table must not keep the rest of a folder out.
        if (options.strict !== true && isCorpusInvalid(error) && (besideDocuments.has(name) || work.length > 1)) {
          const isSkipped = besideDocuments.has(name)
          process.stderr.write(`${name} is ${isSkipped ? 'skipped' : 'not indexed'}: ${error.message}\n`)
          if (isSkipped) leftOut.push({ file: name, problem: 'not_supported', detail: error.message })
          else failed.push(name)
          return undefined
        }
        return stopped({ indexed, left: work.slice(i + 1).map(({ name }) => name) }, error)
      })
      if (job === undefined) continue
      done.push(job)
      indexed.push(name)
    }
    if (documents.length + archives.length + pages.length + leftOut.length > 0) await summarise(done, leftOut, 'indexed')
    if (failed.length > 0) throw new CodedError('corpus_invalid', `Not indexed: ${failed.join(', ')}. The reasons are above.`)
  })
}

async function check(corpus: Corpus, options: AddOptions): Promise<void> {
  const { tables, besideDocuments, documents, archives, pages } = corpus
  const leftOut = [...corpus.leftOut]
  const order = addOptions(options)
  await withIndexing(options.collection, 'embeds', async ({ index }) => {
    const checking = { options: order, dimension: index.model.dimension, ...(options.show === true && { onItem: showPassage }) }
    const none = { indexed: 0, left_out: [] }
    const files: Pick<Job, 'files'>[] = []
    for (const file of tables) {
      const maySkip = options.strict !== true && besideDocuments.has(file)
      const fits = await checkTable(file, checking, maySkip ? SKIPPED : undefined)
      files.push(fits ? {} : { files: none })
      if (!fits && maySkip) leftOut.push({ file, problem: 'not_supported', detail: 'It is no table of passages.' })
    }
    for (const source of documents) files.push({ files: (await checkDocuments(source, checking)) ?? none })
    for (const archive of archives) files.push({ files: (await checkArchive(archive, checking)) ?? none })
    if (pages.length > 0) files.push({ files: (await checkPages(webSource(pages, options), checking)) ?? none })
    if (documents.length + archives.length + pages.length + leftOut.length > 0) await summarise(files, leftOut, 'fit to index')
  })
}

/** Prints the number of indexed and skipped files over all jobs; a table is one file. */
async function summarise(jobs: readonly Pick<Job, 'files'>[], leftOut: readonly LeftOutFile[], verb: string): Promise<void> {
  const { describeFiles, joinedFiles, tallyOf } = await import('../../jobs/sources/summary.ts')
  const files = joinedFiles([...jobs.map(({ files }) => files ?? { indexed: 1, left_out: [] }), tallyOf(leftOut)])
  process.stdout.write(`${describeFiles(files, verb)}\n`)
}

/** What is asked of the web. */
function webSource(urls: readonly string[], { allowPrivate }: AddOptions): WebSource {
  return { urls: [...urls], ...(allowPrivate === true && { private: true }) }
}

function isCorpusInvalid(error: unknown): error is CodedError {
  return error instanceof CodedError && error.code === 'corpus_invalid'
}

/** A job that failed with `--strict`, or was stopped, ends the command: lists the files of the jobs before and after it. */
function stopped({ indexed, left }: { readonly indexed: readonly string[]; readonly left: readonly string[] }, error: unknown): never {
  if (indexed.length > 0) process.stderr.write(`Indexed before: ${indexed.join(', ')}\n`)
  if (left.length > 0) process.stderr.write(`Not started: ${left.join(', ')}\n`)
  throw error
}

function addOptions(options: AddOptions): JobOptions {
  return { ...(options.replace === true && { replace: true }), ...jobOptions(options) }
}
