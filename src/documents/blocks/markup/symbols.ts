import { codePoint } from 'dingbat-to-unicode'

/** A letter that each font of symbols has. */
const ANY = 0x41
/** Letters of a font of symbols, as themselves or in Unicode's area for private use; of other fonts only the latter may be symbols. */
const LETTERS = /[!-~\u00a1-\u00ff\uf020-\uf0ff]/g
const PRIVATE = /[\uf020-\uf0ff]/g

/** A text with the symbols that its letters show in a font like Symbol or Wingdings; of another font as it is. */
export function symbolsIn(text: string, font = '', { areAll = true } = {}): string {
  if (codePoint(font, ANY) === undefined) return text
  return text.replace(areAll ? LETTERS : PRIVATE, (letter) => codePoint(font, letter.charCodeAt(0) & 0xff)?.string ?? letter)
}
