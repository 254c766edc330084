import { codePoint } from 'dingbat-to-unicode'

/** A letter that each font of symbols has. */
const ANY = 0x41
/** Letters of a font of symbols, as themselves or in Unicode's area for private use; of other fonts only the latter may be symbols. */
const LETTERS = /[!-~\u00a1-\u00ff\uf020-\uf0ff]/g
const PRIVATE = /[\uf020-\uf0ff]/g
/** Bullets that say something: check marks, crosses, and boxes with them. */
const SAYING = /[\u2610-\u2612\u2705\u2713-\u2718\u274c\u274e\u{1f5f4}-\u{1f5f9}]/u

/** The mark of an item: "-" for a bullet that says nothing. */
export function bulletMark(bullet = '', font?: string): string {
  return SAYING.exec(symbolsIn(bullet, font))?.[0] ?? '-'
}

/** A text with the symbols that its letters show in a font like Symbol or Wingdings; of another font as it is. */
export function symbolsIn(text: string, font = '', { areAll = true } = {}): string {
  if (codePoint(font, ANY) === undefined) return text
  return text.replace(areAll ? LETTERS : PRIVATE, (letter) => codePoint(font, letter.charCodeAt(0) & 0xff)?.string ?? letter)
}
