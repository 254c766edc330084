import type { Passage } from '../contract.ts'
import type { TableShape } from './column-map.ts'

export const FORMATS = ['tsv', 'csv', 'jsonl', 'json', 'parquet'] as const
export type Format = (typeof FORMATS)[number]

/** Words per passage of split documents. The default is the literature's. */
export const SPLIT_WORDS = { least: 20, most: 1000, byDefault: 100 } as const

export const FILE_PROBLEMS = [
  'not_supported',
  'encrypted',
  'damaged',
  'encoding',
  'too_slow',
  'too_much_memory',
  'without_text',
  'scanned',
  'too_large',
  'hidden',
  'link',
  'unreadable',
  // Of pages of the web
  'robots',
  'not_found',
  'http_error',
  'unreachable',
  'timeout',
  'redirect',
  'private_address',
  'not_allowed',
  'too_many',
] as const
export type FileProblem = (typeof FILE_PROBLEMS)[number]

type RejectReason =
  | FileProblem
  | 'missing_column'
  | 'malformed'
  | 'bad_utf8'
  | 'bad_id'
  | 'duplicate_id'
  | 'empty_text'
  | 'text_too_long'
  | 'title_too_long'
  | 'line_too_long'
  | 'bad_metadata'

/** Where a record stands in a file. */
export interface Position {
  /** 1-based physical line at which the record begins; row of a Parquet file, element of a JSON array; 0 for a whole file. */
  readonly line: number
  /** Physical lines of the record, if more than one. */
  readonly lines?: number
}

/** Where a record stands in a corpus. */
interface CorpusPosition extends Position {
  /** Path of the file in a folder; absent if the corpus is one file. */
  readonly file?: string
}

export interface Rejected extends CorpusPosition {
  readonly reason: RejectReason
  /** The value's problem, as a sentence. */
  readonly detail: string
}

/** Current passages of a split file: other passages of its source are stale. */
export interface WholeFile {
  readonly source: string
  /** Common prefix of its passage ids. */
  readonly prefix: string
  /** Rest of each passage's id. */
  readonly rest: readonly string[]
}

export interface Accepted extends CorpusPosition {
  readonly passage: Passage
  /** On the last passage of a split document: its number of passages. */
  readonly parts?: number
  /** On the last passage of a file of a folder. */
  readonly whole?: WholeFile
  /** Names of nested metadata fields that were dropped. */
  readonly leftOut?: readonly string[]
  /** On the first passage of a file: what of it is not in its passages, as sentences. */
  readonly warnings?: readonly string[]
}

export type ReadItem = Accepted | Rejected

/** Output after which the ratio is checked: small files of repeated lines are not bombs. */
export const RATIO_FROM = 64 * 2 ** 20

export const READ_LIMITS = {
  /** Longest text of a passage in UTF-8 bytes. */
  textBytes: 100_000,
  titleBytes: 2_000,
  idBytes: 512,
  /** What filters and lists take. */
  sourceCharacters: 1000,
  /** Longest line in memory; longer ones are skipped. */
  lineBytes: 16 * 2 ** 20,
  /** Most bytes that a compressed file may expand to. */
  expandedBytes: 256 * 2 ** 30,
  /** Most bytes out per byte in, once 64 MiB have been written: text compresses 3 to 10 times, a bomb 1000 times. */
  expansionRatio: 100,
} as const

export interface ReadOptions {
  /** Detected from the first bytes if absent. */
  readonly format?: Format | undefined
  /** Target words per passage, to split documents. Absent: every row is a passage. */
  readonly splitWords?: number | undefined
  /** Source of passages without one. */
  readonly source?: string | undefined
  /** False if quotes have no meaning in TSV and CSV. */
  readonly quotes?: boolean
  readonly metadata?: boolean
  /** Encoding of a text that is not UTF-8 and has no byte order mark. */
  readonly encoding?: string | undefined
  readonly shape?: TableShape
  /** Called with the share of the file read so far, 0 to 1; not for streams. */
  readonly onShare?: ((share: number) => void) | undefined
}

/** Fields of one line, before validation. */
export interface RawRow extends Position {
  readonly id: unknown
  readonly title: unknown
  readonly text: unknown
  readonly source: unknown
  /** An object, or its JSON. */
  readonly metadata: unknown
  /** Names of columns that are not read. */
  readonly unread?: readonly string[]
}

/** Passages as JSON lines, which can be indexed again: an empty source says that there is none. */
export async function* exportLines(passages: AsyncIterable<Passage>): AsyncGenerator<string> {
  for await (const passage of passages) yield `${JSON.stringify({ ...passage, source: passage.source ?? '' })}\n`
}
