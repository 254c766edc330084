import { Command, Option } from 'commander'
import { basename } from 'node:path'
import { CodedError, invalidOption } from '../../../base/errors.ts'
import { fileBytes } from '../../../base/files.ts'
import { WORD_LANGUAGES, type WordLanguage } from '../../../index/word-languages.ts'
import type { Jobs } from '../../jobs/jobs.ts'
import type { LeftOutFile } from '../../jobs/sources/list.ts'
import type { Files, Job, JobOptions, WebSource } from '../../jobs/record/schema.ts'
import type { Corpus, Source } from './corpus-files.ts'
import { follow, withIndexing } from './jobs.ts'
import { wholeNumber, collectionOption } from '../program/options.ts'
import { loadWritingConfig } from '../program/run-program.ts'
import { print, say, shown } from '../program/shown.ts'
import { jobOptions, withReadingOptions, type ReadingOptions } from './reading-options.ts'

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
        throw invalidOption('--watch', '--watch goes with none of --check, --show and --replace: give one of them.')
      // Missing files, unsupported ones and a replica are reported before waiting for anything.
      await corpusOf(given, options)
      await loadWritingConfig()
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

/** Makes the collection in the language of the options. @throws conflict if the collection exists in another language */
async function make({ collection, language }: AddOptions): Promise<void> {
  if (language !== undefined)
    await withIndexing(collection, 'embeds', ({ index, collections }) => collections.create(index.table, language))
}

/** The corpus of the arguments. @throws options_invalid for conflicting options; as `corpusFiles` */
async function corpusOf(given: string[], options: AddOptions): Promise<Corpus> {
  const { corpusFiles } = await import('./corpus-files.ts')
  const { tableOptionOf } = await import('../../jobs/sources/reading.ts')
  const corpus = await corpusFiles(given, options)
  const kinds = corpus.sources.map(({ kind }) => kind)
  if (options.watch !== undefined && kinds.includes('pages'))
    throw invalidOption('--watch', '--watch follows files and folders: run the command again to fetch pages again.')
  const several =
    '--replace takes one file, or one folder of documents: each of several would replace the one before. Join them, or add them.'
  if (options.replace === true && kinds.length > 1) throw invalidOption('--replace', several)
  const unused = kinds.includes('table') || kinds.includes('archive') ? undefined : tableOptionOf(jobOptions(options))
  if (unused !== undefined) {
    const flag = `--${unused.replace('_', '-')}`
    throw invalidOption(flag, `${flag} applies to tables, and there is none: leave it out, or give --format with a table.`)
  }
  const isNamed = corpus.sources.some((source) => source.kind === 'documents' && source.only !== undefined)
  if (options.deleteMissing === true && (isNamed || !(kinds.includes('documents') || kinds.includes('pages'))))
    throw invalidOption('--delete-missing', '--delete-missing requires a folder of documents or addresses of web pages.')
  if (options.allowPrivate === true && !kinds.includes('pages'))
    throw invalidOption('--allow-private', '--allow-private is for addresses of web pages, and there is none: leave it out.')
  return corpus
}

async function add(corpus: Corpus, options: AddOptions, signal?: AbortSignal): Promise<void> {
  const { sources } = corpus
  const leftOut = [...corpus.leftOut]
  await withIndexing(options.collection, 'embeds', async ({ jobs }) => {
    const done: { readonly name: string; readonly files: Files }[] = []
    const failed: string[] = []
    for (const [i, source] of sources.entries()) {
      signal?.throwIfAborted()
      const { path: name } = source
      const job = await follow(jobs, start(jobs, source, options), options.collection, signal).catch((error: unknown) => {
        const isSkipped = maySkip(source, options)
        const isInvalid = error instanceof CodedError && error.code === 'corpus_invalid'
        // One damaged table must not keep the rest of a folder out.
        if (options.strict !== true && isInvalid && (isSkipped || sources.length > 1)) {
          say(shown(`${name} is ${isSkipped ? 'skipped' : 'not indexed'}: ${error.message}`))
          if (isSkipped) leftOut.push({ file: name, problem: 'not_supported', detail: error.message })
          else failed.push(name)
          return undefined
        }
        // A job that failed with `--strict`, or was stopped, ends the command.
        const left = sources.slice(i + 1).map(({ path }) => path)
        if (done.length > 0) say(shown(`Indexed before: ${done.map((one) => one.name).join(', ')}`))
        if (left.length > 0) say(shown(`Not started: ${left.join(', ')}`))
        throw error
      })
      if (job !== undefined) done.push({ name, files: job.files ?? ONE_FILE })
    }
    const files = done.map((one) => one.files)
    await summarise(corpus, leftOut, files, 'indexed')
    if (failed.length > 0) throw new CodedError('corpus_invalid', `Not indexed: ${failed.join(', ')}. The reasons are above.`)
  })
}

function start(jobs: Jobs, source: Source, options: AddOptions): Promise<Job> {
  const order = orderOf(options)
  const withMissing = { ...order, ...(options.deleteMissing === true && { delete_missing: true }) }
  if (source.kind === 'table') return jobs.addFile(source.path, order)
  if (source.kind === 'documents') return jobs.addFolder(source.path, withMissing, source.only)
  if (source.kind === 'pages') return jobs.addPages({ ...webOptions(options), urls: source.urls }, withMissing)
  return jobs.addFiles({ files: [{ name: basename(source.path), bytes: fileBytes(source.path) }], options: order })
}

async function check(corpus: Corpus, options: AddOptions): Promise<void> {
  const { checkSource, showPassage } = await import('./check-corpus.ts')
  const { collection, language, show } = options
  const leftOut = [...corpus.leftOut]
  await withIndexing(collection, 'checks', async ({ index, collections }) => {
    const { dimension } = index.model
    const checking = { options: orderOf(options), dimension, ...(show === true && { onItem: showPassage }) }
    if (language !== undefined) await collections.checkLanguage(index.table, language)
    const files: Files[] = []
    for (const source of corpus.sources) {
      const isSkipped = maySkip(source, options)
      const found = await checkSource(source, checking, webOptions(options), isSkipped)
      files.push(found ?? { indexed: 0, left_out: [] })
      if (found === undefined && isSkipped)
        leftOut.push({ file: source.path, problem: 'not_supported', detail: 'It is no table of passages.' })
    }
    await summarise(corpus, leftOut, files, 'fit to index')
  })
}

/** A table is one file. */
const ONE_FILE: Files = { indexed: 1, left_out: [] }

/** Prints the number of indexed and skipped files over all jobs, unless the corpus is tables alone. */
async function summarise({ sources }: Corpus, leftOut: readonly LeftOutFile[], files: readonly Files[], verb: string): Promise<void> {
  if (leftOut.length === 0 && sources.every(({ kind }) => kind === 'table')) return
  const { describeFiles, joinedFiles, tallyOf } = await import('../../jobs/sources/summary.ts')
  await print(`${shown(describeFiles(joinedFiles([...files, tallyOf(leftOut)]), verb))}\n`)
}

/** A JSON file of a folder of documents may be no table, such as package.json. */
function maySkip(source: Source, { strict }: AddOptions): boolean {
  return strict !== true && source.kind === 'table' && source.besideDocuments === true
}

function webOptions({ allowPrivate }: AddOptions): Omit<WebSource, 'urls'> {
  return allowPrivate === true ? { private: true } : {}
}

function orderOf(options: AddOptions): JobOptions {
  return { ...(options.replace === true && { replace: true }), ...jobOptions(options) }
}
