import type { Passage } from '../contract.ts'
import type { RawRow, ReadItem, ReadLimits, Rejected } from './types.ts'

/** Control characters and lone surrogates: neither can be given back in a URL or as UTF-8. */
const UNREPRESENTABLE = /[\u0000-\u001f\u007f]|\p{Surrogate}/u

function idOf(value: unknown, maxBytes: number): string | { readonly problem: string } {
  if (typeof value === 'number') {
    return Number.isSafeInteger(value) ? String(value) : { problem: `The id ${value} is not an exact integer: write it as a string.` }
  }
  if (typeof value !== 'string') return { problem: 'The id is neither a string nor an integer.' }
  if (value.trim() === '') return { problem: 'The id is empty.' }
  if (Buffer.byteLength(value) > maxBytes)
    return { problem: `The id has ${Buffer.byteLength(value)} bytes; at most ${maxBytes} are allowed.` }
  if (UNREPRESENTABLE.test(value)) return { problem: 'The id holds control characters or half of a surrogate pair.' }
  return value
}

/** JSON can spell half a surrogate pair, UTF-8 cannot: it becomes U+FFFD, as it would on the way to the disk. */
function wellFormed(text: string): string {
  return text.trim().replace(/\p{Surrogate}/gu, '\ufffd')
}

function optionalText(value: unknown): string {
  return typeof value === 'string' ? wellFormed(value) : ''
}

/**
 * Checks one row's content.
 * @param maxTextBytes limit for the text: the passage's, or the whole document's where documents are split afterwards.
 */
export function checkRow(row: RawRow, limits: ReadLimits, maxTextBytes: number): ReadItem {
  const { line } = row
  const reject = (reason: Rejected['reason'], detail: string): Rejected => ({ line, reason, detail })
  if (row.id === undefined || row.id === null) return reject('missing_column', 'The line has no id.')
  if (row.text === undefined || row.text === null) return reject('missing_column', 'The line has no text.')
  const id = idOf(row.id, limits.idBytes)
  if (typeof id !== 'string') return reject('bad_id', id.problem)
  if (typeof row.text !== 'string') return reject('malformed', 'The text is not a string.')
  const text = wellFormed(row.text)
  if (text === '') return reject('empty_text', 'The text is empty.')
  const bytes = Buffer.byteLength(text)
  if (bytes > maxTextBytes)
    return reject('text_too_long', `The text has ${bytes} bytes; at most ${maxTextBytes} are allowed. Split long documents into passages.`)
  const title = optionalText(row.title)
  if (Buffer.byteLength(title) > limits.titleBytes)
    return reject('title_too_long', `The title has ${Buffer.byteLength(title)} bytes; at most ${limits.titleBytes} are allowed.`)
  const source = optionalText(row.source)
  const passage: Passage = { id, title, text, ...(source === '' ? {} : { source }) }
  return { line, passage }
}
