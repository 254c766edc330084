import type { Line } from './lines.ts'
import type { Rejected } from './contract.ts'

const [QUOTE, BACKSLASH, COMMA, OPEN_LIST, CLOSE_LIST, OPEN, CLOSE] = Buffer.from('"\\,[]{}')

/**
 * Cuts a JSON array into its elements, each with its number in place of a line, without decoding them: what is inside them
 * is for JSON.parse. An element above `maxBytes` comes out as a rejection. Arrays are read as they come: the file may be
 * larger than memory.
 */
export async function* readArrayElements(bytes: AsyncIterable<Buffer>, maxBytes: number): AsyncGenerator<Line | Rejected> {
  let [depth, element, length] = [0, 1, 0]
  let [inString, escaped] = [false, false]
  let held: Buffer[] = []
  const finish = (last: Buffer): Line | Rejected | undefined => {
    const total = length + last.length
    const whole = total > maxBytes ? Buffer.alloc(0) : Buffer.concat([...held, last])
    held = []
    length = 0
    if (total > maxBytes)
      return { line: element++, reason: 'line_too_long', detail: `The element has ${total} bytes; at most ${maxBytes} are read.` }
    return whole.toString('latin1').trim() === '' ? undefined : { line: element++, bytes: whole }
  }
  for await (const chunk of bytes) {
    let from = 0
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at]
      if (inString) {
        if (escaped) escaped = false
        else if (byte === BACKSLASH) escaped = true
        else if (byte === QUOTE) inString = false
      } else if (byte === QUOTE) inString = true
      else if (byte === OPEN_LIST || byte === OPEN) {
        depth++
        if (depth === 1) from = at + 1
      } else if (depth === 1 && (byte === COMMA || byte === CLOSE_LIST)) {
        const item = finish(chunk.subarray(from, at))
        if (item !== undefined) yield item
        from = at + 1
        if (byte === CLOSE_LIST) depth = 0
      } else if (byte === CLOSE_LIST || byte === CLOSE) depth--
    }
    if (depth === 0) continue
    const rest = chunk.subarray(from)
    length += rest.length
    if (length > maxBytes) held = []
    else held.push(rest)
  }
  if (depth > 0) yield { line: element, reason: 'malformed', detail: 'The JSON array is cut off in or after this element.' }
}
