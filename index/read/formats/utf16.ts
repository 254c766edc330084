import { CodedError } from '../../../base/errors.ts'

/** UTF-16 variant of a file, by its byte order mark. */
export function utf16Kind(head: Buffer): 'utf-16le' | 'utf-16be' | undefined {
  if (head[0] === 0xff && head[1] === 0xfe) return 'utf-16le'
  return head[0] === 0xfe && head[1] === 0xff ? 'utf-16be' : undefined
}

/** Converts UTF-16, as spreadsheets write it, to UTF-8 without byte order mark. @throws corpus_invalid for invalid UTF-16 */
export async function* fromUtf16(bytes: AsyncIterable<Buffer>, kind: 'utf-16le' | 'utf-16be'): AsyncGenerator<Buffer> {
  const decoder = new TextDecoder(kind, { fatal: true })
  try {
    for await (const chunk of bytes) yield Buffer.from(decoder.decode(chunk, { stream: true }))
    yield Buffer.from(decoder.decode())
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    throw new CodedError('corpus_invalid', 'The file has a UTF-16 byte order mark but is not valid UTF-16: convert it to UTF-8.', {
      field: 'file',
      cause: error,
    })
  }
}
