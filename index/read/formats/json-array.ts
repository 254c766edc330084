import { decoded, type Line } from '../../../base/files.ts'
import type { Rejected } from '../contract.ts'

const [QUOTE, BACKSLASH, COMMA, OPEN_LIST, CLOSE_LIST, OPEN, CLOSE] = Buffer.from('"\\,[]{}')

/**
 * Cuts a JSON array into the texts of its elements, each with its number in place of a line: what is inside them is for JSON.parse. An element
 * above `maxBytes` is a rejection, and so is the end of an array that is cut off.
 * Arrays are read as they come: the file may be larger than memory.
 * @param key under which the document, where it is an object, holds the array; a document without one is rejected
 */
export async function* readArrayElements(bytes: AsyncIterable<Buffer>, maxBytes: number, key?: string): AsyncGenerator<Line | Rejected> {
  // The array's elements are at `level`; 0 outside of it.
  let [depth, level, element, length] = [0, 0, 1, 0]
  let [inString, escaped, found, isAfter] = [false, false, false, false]
  /** The last string at depth 1: in an object the key of what follows. */
  let name = ''
  let held: Buffer[] = []
  const finish = (last: Buffer): Line | Rejected | undefined => {
    const total = length + last.length
    const whole = total > maxBytes ? Buffer.alloc(0) : Buffer.concat([...held, last])
    held = []
    length = 0
    if (total > maxBytes)
      return { line: element++, reason: 'line_too_long', detail: `The element has ${total} bytes; at most ${maxBytes} are read.` }
    return whole.toString('latin1').trim() === '' ? undefined : decoded(element++, whole)
  }
  for await (const chunk of bytes) {
    let from = 0
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at] as number
      // A byte order mark is no text.
      isAfter ||= found && depth === 0 && byte > 0x20 && byte < 0x80 && byte !== OPEN_LIST
      if (inString) {
        if (escaped) escaped = false
        else if (byte === BACKSLASH) escaped = true
        else if (byte === QUOTE) inString = false
        if (inString && level === 0 && depth === 1) name += String.fromCharCode(byte)
      } else if (byte === QUOTE) {
        inString = true
        if (level === 0) name = ''
      } else if (byte === OPEN_LIST || byte === OPEN) {
        depth++
        const begins = level === 0 && byte === OPEN_LIST && (depth === 1 || (depth === 2 && name === key))
        if (begins) [level, from, found] = [depth, at + 1, true]
      } else {
        if (level > 0 && depth === level && (byte === COMMA || byte === CLOSE_LIST)) {
          const item = finish(chunk.subarray(from, at))
          if (item !== undefined) yield item
          from = at + 1
        }
        if (byte === CLOSE_LIST || byte === CLOSE) depth--
        if (depth < level) level = 0
      }
    }
    if (level === 0) continue
    const rest = chunk.subarray(from)
    length += rest.length
    if (length > maxBytes) held = []
    else held.push(rest)
  }
  if (level > 0) yield { line: element, reason: 'malformed', detail: 'The JSON array is cut off in or after this element.' }
  if (isAfter && key === undefined)
    yield { line: element, reason: 'malformed', detail: 'There is text after the JSON array, which is not read: remove it.' }
  if (!found && key !== undefined) yield { line: 0, reason: 'malformed', detail: `There is no array, and no "${key}" that is one.` }
}
