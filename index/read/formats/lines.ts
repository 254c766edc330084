import { isUtf8 } from 'node:buffer'
import { eventLoopYielder } from '../../../base/yield-to-event-loop.ts'
import type { Rejected } from '../contract.ts'

export interface Line {
  readonly line: number
  readonly text: string
  readonly crlf?: boolean
}

/** Decodes a line, or an element of an array, by its number. */
export function decoded(line: number, bytes: Buffer): Line | Rejected {
  return isUtf8(bytes) ? { line, text: bytes.toString('utf8') } : { line, reason: 'bad_utf8', detail: 'The line is not valid UTF-8.' }
}

const NEWLINE = 0x0a
const RETURN = 0x0d
const BOM = Buffer.from([0xef, 0xbb, 0xbf])

/**
 * Splits a byte stream at newlines (LF or CRLF). A byte order mark at the start of any line is dropped, since
 * concatenated files contain several. A line above `maxBytes` is yielded as a rejection, as is one that is not UTF-8; its bytes are not kept.
 */
export async function* readLines(bytes: AsyncIterable<Buffer>, maxBytes: number): AsyncGenerator<Line | Rejected> {
  let held: Buffer[] = []
  let heldBytes = 0
  let line = 1
  const yieldToEventLoop = eventLoopYielder()
  const finish = (last: Buffer): Line | Rejected => {
    const total = heldBytes + last.length
    const at = line++
    const whole = total > maxBytes ? Buffer.alloc(0) : Buffer.concat([...held, last])
    held = []
    heldBytes = 0
    if (total > maxBytes) return { line: at, reason: 'line_too_long', detail: `The line has ${total} bytes; at most ${maxBytes} are read.` }
    const crlf = whole.at(-1) === RETURN
    return { ...decoded(at, whole.subarray(whole.subarray(0, 3).equals(BOM) ? 3 : 0, crlf ? -1 : undefined)), crlf }
  }
  for await (const chunk of bytes) {
    let from = 0
    for (let to = chunk.indexOf(NEWLINE); to >= 0; to = chunk.indexOf(NEWLINE, from)) {
      const pause = yieldToEventLoop()
      if (pause !== undefined) await pause
      yield finish(chunk.subarray(from, to))
      from = to + 1
    }
    const rest = chunk.subarray(from)
    heldBytes += rest.length
    if (heldBytes > maxBytes) held = []
    else if (rest.length > 0) held.push(rest)
  }
  if (heldBytes > 0) yield finish(Buffer.alloc(0))
}
