/** Letters of Windows-1252 at 0x80 to 0x9f; five places have none. */
const WINDOWS_LETTERS =
  '\u20ac\u0081\u201a\u0192\u201e\u2026\u2020\u2021\u02c6\u2030\u0160\u2039\u0152\u008d\u017d\u008f' +
  '\u0090\u2018\u2019\u201c\u201d\u2022\u2013\u2014\u02dc\u2122\u0161\u203a\u0153\u009d\u017e\u0178'
const FIRST = 0x80

const MARKS: readonly (readonly [label: string, mark: readonly number[]])[] = [
  ['utf-8', [0xef, 0xbb, 0xbf]],
  ['utf-16le', [0xff, 0xfe]],
  ['utf-16be', [0xfe, 0xff]],
]

/** The encoding that a file's byte order mark names. */
export function markedEncoding(bytes: Uint8Array): string | undefined {
  return MARKS.find(([, mark]) => mark.every((byte, i) => bytes[i] === byte))?.[0]
}

/** Share of zero bytes that shows UTF-16, and how many times as many of them are at even places as at odd ones, or the reverse. */
const ZEROS = { share: 0.3, apart: 2 }

/** The encoding of a text of UTF-16 without byte order mark, by its beginning; undefined for other bytes. */
export function unmarkedUtf16(start: Uint8Array): 'utf-16le' | 'utf-16be' | undefined {
  const [even = 0, odd = 0] = [0, 1].map((parity) => start.filter((byte, i) => i % 2 === parity && byte === 0).length)
  const isApart = Math.max(even, odd) > ZEROS.apart * Math.min(even, odd)
  if (!isApart || even + odd <= ZEROS.share * start.length) return undefined
  return odd > even ? 'utf-16le' : 'utf-16be'
}

/** Letters of Windows-1252 in place of the control characters that a text has where it was decoded as ISO-8859-1. */
export function withWindowsLetters(text: string): string {
  return text.replace(/[\u0080-\u009f]/g, (code) => WINDOWS_LETTERS.charAt(code.charCodeAt(0) - FIRST))
}

/** The bytes of a text in Windows-1252; undefined if it has other letters. */
export function windowsBytes(text: string): Uint8Array | undefined {
  const bytes = Array.from(text, (letter) => {
    const place = WINDOWS_LETTERS.indexOf(letter)
    return place < 0 ? (letter.codePointAt(0) ?? 0) : FIRST + place
  })
  return bytes.every((byte) => byte < 256) ? Uint8Array.from(bytes) : undefined
}

/**
 * A TextDecoder that rejects invalid bytes. That of Node 20 decodes Windows-1252, and the labels that mean it (latin1), as ISO-8859-1.
 * @throws RangeError if the encoding is not known
 */
export function strictDecoder(encoding: string) {
  const decoder = new TextDecoder(encoding, { fatal: true })
  const isWindows = decoder.encoding === 'windows-1252'
  return {
    /** @throws TypeError */
    decode: (bytes?: Uint8Array, options?: { readonly stream?: boolean }): string => {
      const text = decoder.decode(bytes, options)
      return isWindows ? withWindowsLetters(text) : text
    },
  }
}
