import { constants, deflateSync, inflateSync } from 'node:zlib'

/** Bytes at most: of a compressed map of a font's codes, of what is in it, of what tells that it is one, and of all maps. */
const MOST = { packed: 2 ** 16, bytes: 2 ** 17, head: 128, all: 2 ** 24 }
const [STREAM, END] = ['stream', 'endstream']
/** An entry for a code of one byte: the code, perhaps twice (a range of one), and its text in UTF-16; not the end of a range. */
const ENTRY = /(?<!<[0-9a-f]{2}>\s{0,9})<([0-9a-f]{2})>(\s*(?:<\1>\s*)?)<((?:[0-9a-f]{4})+)>/gi
const LEAST_PLAIN = 5
/** Divides the first two bytes of compressed data (RFC 1950). */
const ZLIB = 31

/**
 * A copy of a PDF whose fonts have no signs as spaces. Programs for layout write maps with a space before a full stop, or for one, and say in
 * the text what it is (`ActualText`), which the library does not read: it would leave out the points of numbers, as a space (pdf.js issue
 * 12237). A map that does not fit into its place stays as it is.
 */
export function withFullStops(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const copy = new Uint8Array(bytes)
  const pdf = Buffer.from(copy.buffer)
  let [read, to] = [0, 0]
  for (let at = pdf.indexOf(STREAM); at >= 0; at = pdf.indexOf(STREAM, at + 1)) {
    const from = at + STREAM.length + (pdf[at + STREAM.length] === 0x0d ? 2 : 1)
    // Many streams may have one end.
    if (to < from) to = pdf.indexOf(END, from)
    if (to < 0 || read > MOST.all) break
    if (to - from > MOST.packed || to - from < 2 || pdf.readUInt16BE(from) % ZLIB !== 0) continue
    const head = inflated(pdf.subarray(from, Math.min(to, from + MOST.head)))
    if (!/CIDInit|begincmap|CMap/.test(head)) continue
    const map = inflated(pdf.subarray(from, to))
    read += to - from + map.length
    const whole = mended(map)
    const packed = whole === undefined ? pdf : deflateSync(whole, { level: 9 })
    if (packed.length <= to - from) pdf.fill('\n', from, to).set(packed, from)
  }
  return copy
}

/** What compressed data begin with; empty if it is too much, or damaged. */
function inflated(packed: Uint8Array): string {
  try {
    return inflateSync(packed, { maxOutputLength: MOST.bytes, finishFlush: constants.Z_SYNC_FLUSH }).toString('latin1')
  } catch {
    return ''
  }
}

/** A map with its signs, without comments and what only names it; undefined if it has them, or is none. */
function mended(map: string): string | undefined {
  if (!/beginbf(?:char|range)/.test(map)) return undefined
  const entries = Array.from(map.matchAll(ENTRY), ([, code = '', , text = '']) => [code.toLowerCase(), text.toLowerCase()] as const)
  const isPlain = ([code, text]: (typeof entries)[number]): boolean => text === `00${code}`
  // A space that has its own code, next to plain letters alone, is no space by another code.
  const ascii = entries.filter(([code]) => code > '20' && code < '7f')
  const others = ascii.filter(([, text]) => text !== '0020')
  const arePlain = entries.some(([code, text]) => code === '20' && text === '0020') && others.length >= LEAST_PLAIN && others.every(isPlain)
  const whole = map.replace(ENTRY, (entry, code: string, between: string, text: string) => {
    const isSpace = text.toLowerCase() === '0020' && code > '20' && code < '7f'
    // A space and a combining mark are an accent by itself.
    const sign = isSpace ? (arePlain ? `00${code}` : text) : text.replace(/^0020(?!03[0-6]|06[45]|309)(?=.)/, '')
    return sign === text ? entry : `<${code}>${between}<${sign}>`
  })
  return whole === map
    ? undefined
    : whole.replace(/%.*|\/(?:CIDSystemInfo|CMapName|CMapType)\b(?:(?!begin[bc])[^])*?\bdef\b/g, '').replace(/\s+/g, '\n')
}
