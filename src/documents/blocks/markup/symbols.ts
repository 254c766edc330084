import { codePoint } from 'dingbat-to-unicode'

/** A letter that each font of symbols has. */
const ANY = 0x41
/** Letters of a font of symbols, as themselves or in Unicode's area for private use; of other fonts only the latter may be symbols. */
const LETTERS = /[!-~\u00a1-\u00ff\uf020-\uf0ff]/g
const PRIVATE = /[\uf020-\uf0ff]/g
/** Bullets that say something: check marks, crosses, and boxes with them. */
const SAYING = /[\u2610-\u2612\u2705\u2713-\u2718\u274c\u274e\u{1f5f4}-\u{1f5f9}]/u

/** What ZapfDingbats shows at codes whose places in Unicode's block of it other signs have. */
const DINGBATS = new Map(
  'n\u25a0 l\u25cf s\u25b2 t\u25bc u\u25c6 w\u25d7 H\u2605 %\u260e *\u261b +\u261e'
    .split(' ')
    .map((pair) => [pair.charAt(0), pair.charAt(1)]),
)

/** What the letters of a text show in ZapfDingbats. */
export function dingbatsIn(text: string): string {
  return text.replace(/[!-~]/g, (letter) => DINGBATS.get(letter) ?? String.fromCharCode(0x26e0 + letter.charCodeAt(0)))
}

/** The mark of an item: "-" for a bullet that says nothing. */
export function bulletMark(bullet = '', font?: string): string {
  return SAYING.exec(symbolsIn(bullet, font))?.[0] ?? '-'
}

/** A text with the symbols that its letters show in a font like Symbol or Wingdings; of another font as it is. */
export function symbolsIn(text: string, font = '', { areAll = true } = {}): string {
  // LibreOffice numbers fonts of equal names.
  const name = font.replace(/(?<=[a-z])1$/, '')
  if (codePoint(name, ANY) === undefined) return text
  return text.replace(areAll ? LETTERS : PRIVATE, (letter) => codePoint(name, letter.charCodeAt(0) & 0xff)?.string ?? letter)
}
