import path from 'node:path'
import { pipeline, Readable } from 'node:stream'
import { CodedError, messageOf } from '../../base/errors.ts'
import { fileBytes, headOf, readLines, sha256OfFile } from '../../base/files.ts'
import { halfPairIn, parseJson } from '../../base/json.ts'
import { expanded } from '../../index/read/expand.ts'
import { isParquet } from '../../index/read/sniff.ts'
import { readArrayElements } from '../../index/read/formats/json-array.ts'
import { ProblemLog, type RawRecord, type ReadFile } from './question-set.ts'

/** TriviaQA's files hold their questions under this key. */
const TRIVIAQA_KEY = 'Data'

/** The file's bytes in pieces, expanded within the bounds of the index's reader. */
function bytesOf(file: string): Readable {
  return Readable.from(expanded(fileBytes(file)), { objectMode: false })
}

/** A file as a run's manifest names it. */
export async function namedFile(file: string): Promise<Omit<ReadFile, 'problems'>> {
  return { file: path.basename(file), sha256: await sha256OfFile(file) }
}

/** Detects Parquet by the first bytes, JSON lines, a JSON document or a table by the first line. */
async function layoutOf(file: string): Promise<'parquet' | 'csv' | 'tsv' | 'json' | 'jsonl'> {
  if (isParquet(await headOf(file, 4))) return 'parquet'
  if (/\.csv(\.gz)?$/.test(file)) return 'csv'
  for await (const line of readLines(bytesOf(file), Infinity)) {
    const start = 'text' in line ? line.text.trimStart() : ''
    if (start === '') continue
    if (start.startsWith('[')) return 'json'
    if (!start.startsWith('{')) return 'tsv'
    const value = parseJson(start)
    return value === undefined || (typeof value === 'object' && value !== null && TRIVIAQA_KEY in value) ? 'json' : 'jsonl'
  }
  throw invalidDataset(`${file} is empty, or is not UTF-8.`)
}

/** The error of a data file that cannot be used. */
export function invalidDataset(message: string, cause?: unknown): CodedError {
  return new CodedError('dataset_invalid', message, { cause })
}

/**
 * Reads the records of a file: JSON lines, a JSON array, TriviaQA's object, a tab-separated table with a header (PopQA), `.csv`, or
 * Parquet. A record with invalid JSON has an undefined value.
 * @throws dataset_invalid if the file cannot be read
 */
export async function* readRecords(file: string): AsyncGenerator<RawRecord> {
  try {
    const layout = await layoutOf(file)
    if (layout === 'parquet') yield* (await import('./parquet.ts')).parquetRecords(file)
    else if (layout === 'jsonl') yield* jsonLines(file)
    else if (layout === 'json') yield* jsonArray(file)
    else yield* table(file, layout === 'csv' ? ',' : '\t')
  } catch (error) {
    if (error instanceof CodedError && error.code !== 'corpus_invalid') throw error
    throw invalidDataset(`${file} cannot be read: ${messageOf(error)}.`, error)
  }
}

async function* jsonLines(file: string): AsyncGenerator<RawRecord> {
  for await (const line of readLines(bytesOf(file), Infinity)) {
    const text = 'text' in line ? line.text : undefined
    if (text?.trim() !== '') yield { at: `line ${line.line}`, value: text && parseJson(text) }
  }
}

async function* jsonArray(file: string): AsyncGenerator<RawRecord> {
  for await (const element of readArrayElements(bytesOf(file) as AsyncIterable<Buffer>, Infinity, TRIVIAQA_KEY)) {
    if ('reason' in element) throw new SyntaxError(element.detail.replace(/\.$/, ''))
    yield { at: `element ${element.line}`, value: parseJson(element.text) }
  }
}

async function* table(file: string, delimiter: string): AsyncGenerator<RawRecord> {
  const { parse } = await import('csv-parse')
  const broken: RawRecord[] = []
  const parser = parse({
    delimiter,
    columns: true,
    bom: true,
    info: true,
    skip_records_with_error: true,
    on_skip: () => {
      broken.push({ at: `line ${parser.info.lines}`, value: undefined })
      return undefined
    },
  })
  // Fails where the file is not UTF-8.
  const text = Readable.toWeb(bytesOf(file)).pipeThrough(new TextDecoderStream('utf-8', { fatal: true }))
  for await (const row of pipeline(text, parser, () => undefined)) {
    const { info, record } = row as { info: { lines: number }; record: Record<string, string> }
    // A quote that begins a cell and is not closed joins it with later lines up to the next quote.
    const isTorn = delimiter === '\t' && Object.values(record).some((cell) => /\t[^]*\n|\n[^]*\t/.test(cell))
    yield { at: `line ${info.lines}`, value: isTorn ? undefined : record }
  }
  yield* broken
}

/** What a task asks about, with its file. */
export interface ItemsFile<Item> extends Required<ReadFile> {
  readonly items: readonly Item[]
}

/**
 * Reads a file's records as a task's items.
 * @param wanted the expected content, for the error message; made of the problems if it is a function
 * @param itemOf the item of a record, undefined for none, or the problem for which it is skipped
 * @throws dataset_invalid if the file cannot be read or has no item
 */
export async function readItems<Item extends object>(
  file: string,
  wanted: string | ((problems: ProblemLog) => string),
  itemOf: (value: unknown, at: string, problems: ProblemLog, index: number) => Item | string | undefined,
): Promise<ItemsFile<Item>> {
  const problems = new ProblemLog()
  const items: Item[] = []
  let count = 0
  for await (const { at, value } of readRecords(file)) {
    const index = count++
    const item = halfPairIn(value) === undefined ? itemOf(value, at, problems, index) : 'half of a surrogate pair'
    if (typeof item === 'string') problems.add(item, at)
    else if (item !== undefined) items.push(item)
  }
  if (items.length === 0) throw invalidDataset(`${file} has ${typeof wanted === 'string' ? wanted : wanted(problems)}`)
  return { items, problems: problems.list(), ...(await namedFile(file)) }
}
