import { DOCUMENT_LIMITS, type ReadDocument } from './contract.ts'
import { DocumentError } from './errors.ts'

/** Byte order marks. */
const MARKS: readonly (readonly [label: string, mark: readonly number[]])[] = [
  ['utf-8', [0xef, 0xbb, 0xbf]],
  ['utf-16le', [0xff, 0xfe]],
  ['utf-16be', [0xfe, 0xff]],
]

/** Encoding declared by a media type or an HTML page. */
const CHARSET = /charset\s*=\s*["']?\s*([\w.:-]{1,40})/i
/** Bytes within which HTML must declare it (WHATWG, "prescan a byte stream"). */
const META_BYTES = 1024

/**
 * Decodes a file by its byte order mark, else its media type (in HTML also its meta element), else as UTF-8.
 * @throws document_invalid if the bytes are invalid in that encoding, or the encoding is unknown
 */
export function decodeText(
  bytes: Uint8Array,
  { mediaType = '', isHtml = false }: { readonly mediaType?: string; readonly isHtml?: boolean } = {},
): string {
  const marked = MARKS.find(([, mark]) => mark.every((byte, i) => bytes[i] === byte))?.[0]
  const meta = isHtml ? CHARSET.exec(new TextDecoder('latin1').decode(bytes.subarray(0, META_BYTES)))?.[1] : undefined
  const label = marked ?? CHARSET.exec(mediaType)?.[1] ?? meta ?? 'utf-8'
  const text = decoded(bytes, label)
  if (text.includes('\0'))
    throw new DocumentError('encoding', 'The file holds zero bytes: it is no text, or is UTF-16 without a byte order mark.')
  return text
}

function decoded(bytes: Uint8Array, label: string): string {
  try {
    return new TextDecoder(label, { fatal: true }).decode(bytes)
  } catch (error) {
    const known = !(error instanceof RangeError)
    throw new DocumentError(
      'encoding',
      known
        ? `The file is not ${label}: save it as UTF-8, or name its encoding in its media type (text/plain; charset=...).`
        : `The encoding ${label} is not known: save the file as UTF-8.`,
      error,
    )
  }
}

/** A text as it is. @throws payload_too_large, document_without_text */
export function plainDocument(text: string): ReadDocument {
  if (text.length > DOCUMENT_LIMITS.characters)
    throw new DocumentError('too_large', `The document has ${text.length} characters; ${DOCUMENT_LIMITS.characters} are read at most.`)
  if (text.trim() === '') throw new DocumentError('without_text', 'The document has no text.')
  return { type: 'text', text, title: '', pages: [], warnings: [] }
}
