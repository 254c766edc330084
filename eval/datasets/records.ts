import { parse } from 'csv-parse'
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { pipeline, type Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { CodedError, messageOf } from '../../base/errors.ts'
import { jsonElements } from './json-elements.ts'
import type { RawRecord } from './question-set.ts'

/** TriviaQA's files hold their questions under this key. */
const TRIVIAQA_KEY = 'Data'

/** How a file's records are laid out. */
export type Layout = 'jsonl' | 'json' | 'tsv'

/** The file's text in pieces; `.gz` is unpacked. */
function open(file: string): Readable {
  const source = createReadStream(file)
  return (file.endsWith('.gz') ? pipeline(source, createGunzip(), () => undefined) : source).setEncoding('utf8')
}

/** SHA-256 of the file as it lies on disk. */
export async function fileHash(file: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(file)) hash.update(chunk as Buffer)
  return hash.digest('hex')
}

/** Tells JSON lines from one JSON document from a table by the first line. */
async function layoutOf(file: string): Promise<Layout> {
  const stream = open(file)
  const lines = createInterface({ input: stream, crlfDelay: Infinity })
  try {
    for await (const line of lines) {
      const start = line.replace(/^\uFEFF/, '').trimStart()
      if (start === '') continue
      if (start.startsWith('[')) return 'json'
      if (!start.startsWith('{')) return 'tsv'
      const value = parseJson(start)
      return value === undefined || (typeof value === 'object' && value !== null && TRIVIAQA_KEY in value) ? 'json' : 'jsonl'
    }
  } finally {
    lines.close()
    stream.destroy()
  }
  throw new CodedError('dataset_invalid', `${file} is empty.`)
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/**
 * The records of a question file, one by one: JSON lines, a JSON array, TriviaQA's object, or a tab-separated table with
 * a header (PopQA). A record that is not valid JSON comes with an undefined value.
 * @throws dataset_invalid where the file as a whole cannot be read
 */
export async function* readRecords(file: string): AsyncGenerator<RawRecord> {
  try {
    const layout = await layoutOf(file)
    if (layout === 'jsonl') yield* jsonLines(file)
    else if (layout === 'json') yield* jsonArray(file)
    else yield* table(file)
  } catch (error) {
    if (error instanceof CodedError) throw error
    throw new CodedError('dataset_invalid', `${file} cannot be read: ${messageOf(error)}.`, { cause: error })
  }
}

async function* jsonLines(file: string): AsyncGenerator<RawRecord> {
  let line = 0
  for await (const text of createInterface({ input: open(file), crlfDelay: Infinity })) {
    line++
    if (text.trim() !== '') yield { at: `line ${line}`, value: parseJson(line === 1 ? text.replace(/^\uFEFF/, '') : text) }
  }
}

async function* jsonArray(file: string): AsyncGenerator<RawRecord> {
  let element = 0
  for await (const text of jsonElements(open(file) as AsyncIterable<string>, TRIVIAQA_KEY))
    yield { at: `element ${++element}`, value: parseJson(text) }
}

async function* table(file: string): AsyncGenerator<RawRecord> {
  const broken: RawRecord[] = []
  const parser = parse({
    delimiter: '\t',
    columns: true,
    bom: true,
    info: true,
    skip_records_with_error: true,
    on_skip: () => {
      broken.push({ at: `line ${parser.info.lines}`, value: undefined })
      return undefined
    },
  })
  for await (const row of pipeline(open(file), parser, () => undefined)) {
    const { info, record } = row as { info: { lines: number }; record: Record<string, string> }
    yield { at: `line ${info.lines}`, value: record }
  }
  yield* broken
}
