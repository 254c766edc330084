import { CodedError } from '../../../base/errors.ts'

const NEWLINE = 0x0a

/** UTF-16 variant of a file, by its byte order mark. */
export function utf16Kind(head: Buffer): 'utf-16le' | 'utf-16be' | undefined {
  if (head[0] === 0xff && head[1] === 0xfe) return 'utf-16le'
  return head[0] === 0xfe && head[1] === 0xff ? 'utf-16be' : undefined
}

/** Converts a text to UTF-8 without byte order mark. @throws corpus_invalid if it is not in that encoding */
export async function* toUtf8(bytes: AsyncIterable<Buffer>, encoding: string): AsyncGenerator<Buffer> {
  const decoder = new TextDecoder(encoding, { fatal: true })
  try {
    for await (const chunk of bytes) yield Buffer.from(decoder.decode(chunk, { stream: true }))
    yield Buffer.from(decoder.decode())
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    throw new CodedError('corpus_invalid', `The file is not valid ${encoding.toUpperCase()}: name its encoding, or convert it to UTF-8.`, {
      field: 'file',
      cause: error,
    })
  }
}

/** Converts a text to UTF-8 from its first line on that is not UTF-8; unchanged if an earlier one is, beyond ASCII. @throws as `toUtf8` */
export async function* toUtf8WhereNeeded(bytes: AsyncIterable<Buffer>, encoding: string): AsyncGenerator<Buffer> {
  const utf8 = new TextDecoder('utf-8', { fatal: true })
  const isAscii = (text: string): boolean => !/[^\u0000-\u007f]/.test(text)
  const iterator = bytes[Symbol.asyncIterator]()
  const rest = (first: Buffer) => ({
    async *[Symbol.asyncIterator](): AsyncGenerator<Buffer> {
      yield first
      for (let next = await iterator.next(); next.done !== true; next = await iterator.next()) yield next.value
    },
  })
  let held = Buffer.alloc(0)
  try {
    for (;;) {
      const next = await iterator.next()
      if (next.done !== true) held = Buffer.concat([held, next.value])
      const end = next.done === true ? held.length : held.lastIndexOf(NEWLINE) + 1
      let text: string | undefined
      try {
        text = utf8.decode(held.subarray(0, end))
      } catch {
        yield* toUtf8(rest(held), encoding)
        return
      }
      if (!isAscii(text)) {
        yield* rest(held)
        return
      }
      yield held.subarray(0, end)
      held = held.subarray(end)
      if (next.done === true) return
    }
  } finally {
    await iterator.return?.()
  }
}
