import type { Passage } from '../contract.ts'

export const FORMATS = ['tsv', 'csv', 'jsonl', 'json', 'parquet'] as const
export type Format = (typeof FORMATS)[number]

/** Why a whole file was not read. */
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
] as const
export type FileProblem = (typeof FILE_PROBLEMS)[number]

/** Why a line, or a file, was not accepted. */
export type RejectReason =
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

export interface Rejected {
  /** Path of the file in a folder of several; absent where the corpus is one file. */
  readonly file?: string
  /** 1-based physical line of the file at which the record begins; the row of a Parquet file, the element of a JSON array; 0 for a whole file. */
  readonly line: number
  /** Physical lines that the record spans, where more than one. */
  readonly lines?: number
  readonly reason: RejectReason
  /** A sentence for people: the value's problem. */
  readonly detail: string
}

/** What a file that was cut into passages has now: any other passage of its source that a file gave before is no longer in it. */
export interface WholeFile {
  readonly source: string
  /** What the ids of its passages begin with. */
  readonly prefix: string
  /** The rest of each passage's id. */
  readonly rest: readonly string[]
}

export interface Accepted {
  readonly file?: string
  readonly line: number
  readonly lines?: number
  readonly passage: Passage
  /** On the last passage of a document that was cut: how many it has. */
  readonly parts?: number
  /** On the last passage of a file of a folder. */
  readonly whole?: WholeFile
  /** Names of metadata fields that are nested, and were left out. */
  readonly leftOut?: readonly string[]
}

export type ReadItem = Accepted | Rejected

export interface ReadLimits {
  /** Longest text of a passage in UTF-8 bytes. */
  readonly textBytes: number
  readonly titleBytes: number
  readonly idBytes: number
  /** Longest line held in memory; longer ones are skipped to their end. */
  readonly lineBytes: number
  /** Most bytes that a compressed file may expand to. */
  readonly expandedBytes: number
  /** Most bytes out per byte in, once 64 MiB have come out: text compresses 3 to 10 times, a bomb 1000 times. */
  readonly expansionRatio: number
}

/** Output after which the ratio is looked at: small files of repeated lines are no bombs. */
export const RATIO_FROM = 64 * 2 ** 20

export const READ_LIMITS: ReadLimits = {
  textBytes: 100_000,
  titleBytes: 2_000,
  idBytes: 512,
  lineBytes: 16 * 2 ** 20,
  expandedBytes: 256 * 2 ** 30,
  expansionRatio: 100,
}

/** One line as its fields, before any check of their content. */
export interface RawRow {
  readonly line: number
  readonly lines?: number
  readonly id: unknown
  readonly title: unknown
  readonly text: unknown
  readonly source: unknown
  /** An object, or its JSON. */
  readonly metadata: unknown
}
