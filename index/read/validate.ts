import { HALF_PAIR } from '../../base/json.ts'
import type { Passage } from '../contract.ts'
import { checkMetadata, isLonger } from '../passage-metadata.ts'
import { READ_LIMITS, type RawRow, type ReadItem, type Rejected } from './contract.ts'

/** Control characters and lone surrogates cannot be represented in a URL or in UTF-8. */
const UNREPRESENTABLE = /[\u0000-\u001f\u007f]|\p{Surrogate}/u

/** Byte order marks of concatenated files. Arrow drops one when it reads a value back, so such an id would never be found. */
const MARKS = /^\ufeff+|\ufeff+$/g
const LEADING_MARKS = /^\ufeff+/

interface Problem {
  readonly problem: string
}

/** Normalises an id as it is stored; lookups must do the same. */
export function storedId(id: string): string {
  return id.replace(MARKS, '')
}

/** Returns a passage's stored id, or the problem. */
export function passageId(given: unknown): string | Problem {
  const { idBytes } = READ_LIMITS
  if (typeof given === 'number') {
    return Number.isSafeInteger(given) ? String(given) : { problem: `The id ${given} is not an exact integer: write it as a string.` }
  }
  if (typeof given !== 'string') return { problem: 'The id is neither a string nor an integer.' }
  const value = storedId(given)
  if (value.trim() === '') return { problem: 'The id is empty.' }
  if (Buffer.byteLength(value) > idBytes)
    return { problem: `The id has ${Buffer.byteLength(value)} bytes; at most ${idBytes} are allowed.` }
  if (/^\.{1,2}$/.test(value)) return { problem: `The id is ${value}, which is no name in the path of a URL: add another character.` }
  if (UNREPRESENTABLE.test(value)) return { problem: 'The id holds control characters or half of a surrogate pair.' }
  return value
}

function optionalText(field: string, value: unknown): string | Problem {
  if (value === undefined || value === null) return ''
  if (typeof value === 'string') return !value.isWellFormed() ? { problem: `The ${field} ${HALF_PAIR}.` } : value.replace(LEADING_MARKS, '')
  if (typeof value === 'number' && (!Number.isInteger(value) || Number.isSafeInteger(value))) return String(value)
  const kind = Array.isArray(value) ? 'a list' : typeof value === 'number' ? 'not an exact number' : `a JSON ${typeof value}`
  return { problem: `The ${field} is ${kind}: write it as one string.` }
}

interface CheckOptions {
  /** Limit for the text: of the passage, or of the document if documents are split. */
  readonly maxTextBytes?: number
  /** Rejects a list of paragraphs and nested metadata; in rows of files lists are joined and nested metadata is dropped. */
  readonly exact?: boolean
}

/**
 * Validates the content of one row. White space is kept, letters of title and text are composed (NFC), and byte order marks at the start
 * of text, title and source are removed.
 */
export function checkRow(row: RawRow, { maxTextBytes = READ_LIMITS.textBytes, exact = false }: CheckOptions = {}): ReadItem {
  const at = { line: row.line, ...(row.lines === undefined ? {} : { lines: row.lines }) }
  const reject = (reason: Rejected['reason'], detail: string): Rejected => ({ ...at, reason, detail })
  if (row.id === undefined || row.id === null)
    return reject('missing_column', 'The line has no id: add one, or let ids be generated (ids: hash).')
  if (row.text === undefined || row.text === null) return reject('missing_column', 'The line has no text.')
  const id = passageId(row.id)
  if (typeof id !== 'string') return reject('bad_id', id.problem)
  const given = exact ? row.text : joined(row.text)
  if (typeof given !== 'string') return reject('malformed', 'The text is neither a string nor a list of strings.')
  if (!given.isWellFormed()) return reject('malformed', `The text ${HALF_PAIR}.`)
  const text = given.replace(LEADING_MARKS, '').normalize()
  if (text.trim() === '') return reject('empty_text', 'The text is empty.')
  const bytes = Buffer.byteLength(text)
  if (bytes > maxTextBytes)
    return reject('text_too_long', `The text has ${bytes} bytes; at most ${maxTextBytes} are allowed. Split long documents into passages.`)
  const title = optionalText('title', row.title)
  if (typeof title !== 'string') return reject('malformed', title.problem)
  if (Buffer.byteLength(title) > READ_LIMITS.titleBytes)
    return reject('title_too_long', `The title has ${Buffer.byteLength(title)} bytes; at most ${READ_LIMITS.titleBytes} are allowed.`)
  const source = optionalText('source', row.source)
  if (typeof source !== 'string') return reject('malformed', source.problem)
  const { sourceCharacters } = READ_LIMITS
  if (isLonger(source, sourceCharacters)) return reject('malformed', `The source has more than the ${sourceCharacters} characters allowed.`)
  const { metadata, problem, leftOut } = checkMetadata(row.metadata, exact ? 'refuse' : 'leave out')
  if (problem !== undefined) return reject('bad_metadata', problem)
  const passage: Passage = { id, title: title.normalize(), text, ...(source === '' ? {} : { source }), ...(metadata && { metadata }) }
  return { ...at, passage, ...(leftOut && { leftOut }) }
}

/** Joins a text given as a list of paragraphs (KILT); returns other values unchanged. */
function joined(text: unknown): unknown {
  if (!Array.isArray(text) || text.length === 0 || !text.every((one) => typeof one === 'string')) return text
  return text.map((paragraph) => paragraph.trimEnd()).join('\n')
}
