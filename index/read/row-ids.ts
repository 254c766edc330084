import { createHash } from 'node:crypto'
import { IdSet } from '../id-set.ts'
import type { RawRow } from './contract.ts'
import { makesIds, type TableShape } from './column-map.ts'

/** Of an id's hash: 72 bits. */
const HASH_CHARACTERS = 12
/** A longer source is hashed: an id has 512 bytes at most. */
const LONGEST_SOURCE = 400
const CONTROLS = /[\u0000-\u001f\u007f]/

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url')
}

/** Hash of what a passage says, as ids have it. @param number of the passage among those that say the same, from 1 */
export function contentId(title: string, text: string, number = 1): string {
  const content = JSON.stringify([title, text])
  return hashOf(number === 1 ? content : `${content}${number}`).slice(0, HASH_CHARACTERS)
}

/** What the ids of a source's passages begin with. */
export function prefixOf(source: string): string {
  const isPlain = Buffer.byteLength(source) <= LONGEST_SOURCE && !CONTROLS.test(source)
  return `${isPlain ? source : hashOf(source)}#`
}

/** A value of a row as it counts for its id. Parquet has numbers that JSON has not. */
function contentOf(value: unknown): string {
  return typeof value === 'string' ? value : typeof value === 'bigint' ? value.toString() : (JSON.stringify(value) ?? '')
}

/**
 * Gives rows the ids that the order asks for: of the line (`faq.csv#12`), or of what the row says (`faq.csv#4kJq0Zr2vX1b`); of rows that say
 * the same each has its own.
 * @param source of the file, in front of the ids
 */
export function rowIds(shape: TableShape, source: string | undefined): (row: RawRow) => RawRow {
  if (!makesIds(shape)) return (row) => row
  const prefix = source === undefined ? '' : prefixOf(source)
  /** How often a content came before, of those that came twice. */
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
