import chardet from 'chardet'
import { attempt } from '../../base/errors.ts'
import { markedEncoding, strictDecoder, unmarkedUtf16 } from '../../index/read/decode.ts'
import { shareOfLetters } from './alphabets.ts'
import { DOCUMENT_LIMITS } from './contract.ts'
import type { ReadDocument } from './schema.ts'
import { DocumentError } from './errors.ts'
import type { DocumentFile } from './type.ts'

/** Encoding declared by a media type or an HTML page, by XML, or by an editor ("-*- coding: latin-1 -*-"). */
const CHARSET = /charset\s*=\s*["']?\s*([\w.:-]{1,40})/i
const XML = /^\s*<\?xml[^>]{0,200}?\bencoding\s*=\s*["']([\w.:-]{1,40})["']/i
const CODING = /^(?:[^\n]{0,200}\n)?[^\n]{0,200}?\b(?:file)?(?:en)?coding[:=]\s*([\w.-]{1,40})/i
/** Encodings of one byte a letter. */
const ONE_BYTE = /^(?:us-ascii|ascii|latin|l\d|windows|cp\d|iso[-_]?8859|koi8|macintosh|ibm)/i
/** Bytes within which a file must declare it (WHATWG, "prescan a byte stream"). */
const HEAD_BYTES = 1024
/** Bytes from which an encoding is detected. */
const SAMPLE_BYTES = 65_536
/** Confidence, of 100, of a detected encoding. */
const LEAST_CONFIDENCE = 11
/** Encodings that are often taken for others; the share of a text's letters that a language has in one, at least, and above the detected one. */
const OTHERS = 'windows-1252 windows-1254 windows-1250 windows-1257 windows-1251 koi8-u ibm866 x-mac-cyrillic macintosh'.split(' ')
const [LEAST_SHARE, LEAST_GAIN] = [0.9, 0.02]

/** Characters that a text has in a wrong encoding: those of UTF-16 without zero bytes. */
const NO_LETTERS = /[\0-\u0007\u000e-\u0019\u001c-\u001f]/

/**
 * Decodes a file by its byte order mark, else its media type, else as it declares (HTML, XML, editors' lines), else as UTF-8, else by the
 * given encoding, else by detection, which the warnings name. Letters are composed (NFC).
 * @param hints.isHtml whether the text may declare its encoding as a page does
 * @throws document_invalid if the encoding is unknown, or the bytes are no text
 */
export function readText(bytes: Uint8Array, hints: Pick<DocumentFile, 'mediaType' | 'encoding'> & { readonly isHtml?: boolean } = {}) {
  const { mediaType = '', encoding, isHtml = false } = hints
  const marked = markedEncoding(bytes)
  const said = CHARSET.exec(mediaType)?.[1]
  for (const one of [said, encoding])
    if (one !== undefined && !isKnown(one))
      throw new DocumentError('encoding', `The encoding ${one} is not known: name another, or save the file as UTF-8.`)
  const label = marked ?? said ?? declared(bytes, isHtml) ?? 'utf-8'
  const utf8 = marked === undefined && ONE_BYTE.test(label) ? decodedAs('utf-8', bytes) : undefined
  // Text of an encoding of one byte a letter is never valid UTF-8 by chance, beyond ASCII.
  if (utf8 !== undefined && /[^\0-\u007f]/.test(utf8))
    return { text: utf8.normalize(), warnings: [`The file names ${label} as its encoding, but is utf-8: it was read as that.`] }
  const text = decodedAs(label, bytes)
  // An escape sequence of ISO-2022-JP is valid UTF-8.
  const other =
    text === undefined || /\0|\u001b\$[@B]/.test(text)
      ? [encoding, detected(bytes)].find((one) => one !== undefined && decodedAs(one, bytes) !== undefined)
      : undefined
  const found = other === undefined ? text : decodedAs(other, bytes)
  const isGuess = other !== undefined && other !== encoding
  if (found === undefined || (isGuess ? NO_LETTERS : /\0/).test(found)) {
    const message = `The file is not ${label}, nor text of another encoding that could be detected: name its encoding, or save it as UTF-8.`
    throw new DocumentError('encoding', message)
  }
  const warning = `The file is not ${label}: it was read as ${other}, as detected. Name its encoding if that is wrong.`
  return { text: found.normalize(), warnings: isGuess ? [warning] : [] }
}

function declared(bytes: Uint8Array, isHtml: boolean): string | undefined {
  const head = new TextDecoder('latin1').decode(bytes.subarray(0, HEAD_BYTES))
  const label = XML.exec(head)?.[1] ?? (isHtml ? CHARSET.exec(head)?.[1] : CODING.exec(head)?.[1])
  // A declaration in bytes of one letter each is not in UTF-16.
  return label !== undefined && isKnown(label) && !/^utf-?16/i.test(label) ? label : undefined
}

function isKnown(label: string): boolean {
  return decodedAs(label, new Uint8Array()) !== undefined
}

/** A text of an encoding; undefined if the bytes are not of it, or it is not known. */
export function decodedAs(label: string, bytes: Uint8Array | undefined): string | undefined {
  return attempt(() => bytes && strictDecoder(label).decode(bytes), undefined)
}

/** The most likely encoding of a text that is not UTF-8. */
function detected(bytes: Uint8Array): string {
  const sample = bytes.subarray(0, SAMPLE_BYTES)
  const utf16 = unmarkedUtf16(sample)
  if (utf16 !== undefined) return utf16
  const likely = chardet.analyse(sample).filter(({ name, confidence }) => confidence >= LEAST_CONFIDENCE && isKnown(name))
  const found = likely.find(({ name }) => decodedAs(name, bytes) !== undefined)?.name ?? 'windows-1252'
  if (!ONE_BYTE.test(found)) return found
  let [best, most]: [string, number] = [found, (shareOfLetters(decodedAs(found, sample) ?? '') ?? 1) + LEAST_GAIN]
  for (const one of OTHERS) {
    const own = shareOfLetters(decodedAs(one, sample) ?? '') ?? 0
    if (own >= LEAST_SHARE && own > most && decodedAs(one, bytes) !== undefined) [best, most] = [one, own]
  }
  return best
}

/** @throws payload_too_large */
export function checkLength(characters: number): void {
  const { characters: most } = DOCUMENT_LIMITS
  if (characters > most)
    throw new DocumentError('too_large', `The document has ${characters} characters of text; ${most} are read at most.`)
}

/** A text as it is. @throws payload_too_large, document_without_text */
export function plainDocument(text: string, warnings: readonly string[] = []): ReadDocument {
  checkLength(text.length)
  if (text.trim() === '') throw new DocumentError('without_text', 'The document has no text.')
  return { type: 'text', text, title: '', pages: [], warnings: [...warnings] }
}
