import { createHash } from 'node:crypto'
import { IdSet } from '../id-set.ts'
import type { RawRow } from './contract.ts'
import { makesIds, type TableShape } from './column-map.ts'

/** Characters of an id's hash: 72 bits. */
const HASH_CHARACTERS = 12
/** Longer sources are hashed: an id has at most 512 bytes. */
const LONGEST_SOURCE = 400
const CONTROLS = /[\u0000-\u001f\u007f]/

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url')
}

/** Hash of a passage's content, for ids. @param number 1-based number among passages with equal content */
export function contentId(title: string, text: string, number = 1): string {
  const content = JSON.stringify([title, text])
  return hashOf(number === 1 ? content : `${content}${number}`).slice(0, HASH_CHARACTERS)
}

export function prefixOf(source: string): string {
  const isPlain = Buffer.byteLength(source) <= LONGEST_SOURCE && !CONTROLS.test(source)
  return `${isPlain ? source : hashOf(source)}#`
}

/** Canonical text of a row's value, for its id. Parquet has numbers that JSON lacks. */
function contentOf(value: unknown): string {
  return typeof value === 'string' ? value : typeof value === 'bigint' ? value.toString() : (JSON.stringify(value) ?? '')
}

/**
 * Returns a function that assigns ids to rows: by line (`faq.csv#12`) or by content (`faq.csv#4kJq0Zr2vX1b`); equal rows get distinct ids.
 * @param source of the file, the prefix of the ids
 */
export function rowIds(shape: TableShape, source: string | undefined): (row: RawRow) => RawRow {
  if (!makesIds(shape)) return (row) => row
  const prefix = source === undefined ? '' : prefixOf(source)
  /** Number of earlier occurrences of contents that are repeated. */
  const repeated = new Map<string, number>()
  const seen = new IdSet()
  const numberOf = (id: string): number => {
    if (seen.add(id)) return 1
    const number = (repeated.get(id) ?? 1) + 1
    repeated.set(id, number)
    return number
  }
  return (row) => {
    if (shape.ids === 'line') return { ...row, id: `${prefix}${row.line}` }
    if (shape.ids === undefined && row.id !== undefined && row.id !== null) return row
    const [title, text] = [contentOf(row.title), contentOf(row.text)]
    return { ...row, id: prefix + contentId(title, text, numberOf(contentId(title, text))) }
  }
}
