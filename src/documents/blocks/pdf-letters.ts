import type { getDocumentProxy } from 'unpdf'
import { ACCENTS } from './markup/math.ts'
import { dingbatsIn, symbolsIn } from './markup/symbols.ts'

type TextContent = Awaited<ReturnType<Awaited<ReturnType<Awaited<ReturnType<typeof getDocumentProxy>>['getPage']>>['getTextContent']>>
export type Item = Extract<TextContent['items'][number], { str: string }> & { readonly isFixed?: boolean }

/** Letters that fonts of TeX (encodings OT1 and T1) have at codes of control characters. */
const LETTERS = new Map(
  [
    ...['\u000effi', '\u000fffl', '\u0010\u201c', '\u0011\u201d', '\u0015\u2013', '\u0016\u2014'],
    ...['\u001bff', '\u001cfi', '\u001dfl', '\u001effi', '\u001fffl'],
  ].map((pair) => [pair.charAt(0), pair.slice(1)]),
)
const UNKNOWN = /[^\P{Cc}\s]|\ufffd/gu
/** Ligatures, and letters of Hebrew and Arabic by their place in a word. */
const FORMS = /[\ufb00-\ufdff\ufe70-\ufefc]+/g
/** Accents that fonts of TeX print before their letters. One at the beginning of a word may be a quotation mark. */
const ACCENTED = /([\u00a8\u00af\u00b4\u00b8\u02c6\u02c7\u02d8-\u02dd]|(?<=\p{L})`)(\p{L})/gu
/** Letters of scripts that have no others than those that are all as wide. */
const WIDE = /[\u2e80-\ufaff\uff00-\uffef]/
/** A gap between letters, in heights, that separates words. */
export const WORD_GAP = 0.2
/** A hyphen that divides a word at the end of a line. */
const DIVIDING = /[\u00ad\u2010]\s*$/
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/
const LEFT_TO_RIGHT = /[^\P{L}\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/u
/** Signs that are mirrored in text from right to left, by pairs, and those that stand before or after a number there. */
const MIRRORED = '()[]{}<>\u00ab\u00bb'
const IN_ORDER = /^[^()[\]{}<>\u00ab\u00bb]*[([{<\u00ab][^()[\]{}<>\u00ab\u00bb]*[)\]}>\u00bb]/
const AROUND = /^([\s()[\]{}<>\u00ab\u00bb.,:;!?]*)([^]*?)([\s()[\]{}<>\u00ab\u00bb.,:;!?]*)$/

/** Check marks and crosses of Wingdings, in Unicode's area for private use. */
const CHECKS = /[\uf0fb-\uf0fe]/g
/** A word whose letters stand apart: the library takes the gaps for spaces. Others of its line; a heading of one word. */
const SPACED = /^(?=.*[AEIOUYaeiouy\u0080-\uffff])\p{L}(?: \p{L}){4,}$/u
const [SPACED_TOO, SPACED_HEADING] = [/^\S(?: \S)*$/u, /^\p{Lu}(?: \p{Lu}){4,11}$/u]

/** The items of a line with letter-spaced words as words, where gaps between them are known. */
export function closedUp(items: readonly Item[]): readonly Item[] {
  // Letters in the order of the alphabet are no word.
  const isSpaced = ({ str }: Item): boolean => SPACED.test(str) && [...str].some((letter, i) => i > 1 && letter < str.charAt(i - 2))
  const shown = items.filter(({ str }) => str.trim() !== '')
  const areAll = shown.length > 1 && shown.some(isSpaced) && shown.every(({ str }) => SPACED_TOO.test(str))
  const isClosed = (item: Item): boolean => areAll || (isSpaced(item) && SPACED_HEADING.test(item.str))
  return items.map((item) => (isClosed(item) && item.str.length > 1 ? { ...item, str: item.str.replaceAll(' ', '') } : item))
}

/** The texts of a page, and whether their letters are all as wide. The library takes codes of ZapfDingbats for letters, and knows the height of neither it nor Symbol, which has no Latin letters. */
export function textsIn({ items, styles }: TextContent): Item[] {
  const texts = items.filter((item) => 'str' in item)
  const isDingbats = (font: string): boolean => {
    const all = texts.flatMap(({ fontName, str }) => (fontName === font ? [str] : [])).join('')
    return Number.isNaN(styles[font]?.ascent) && /[a-z3-8]/i.test(all) && !/[^\0-\u00ff]/.test(all)
  }
  const fonts = new Set(Object.keys(styles).filter(isDingbats))
  return texts.map((item) => {
    const isFixed = styles[item.fontName]?.fontFamily === 'monospace' && !WIDE.test(item.str)
    return { ...item, isFixed, ...(fonts.has(item.fontName) && { str: dingbatsIn(item.str) }) }
  })
}

/** The letters that a line of a page shows. */
export function lettersIn(line: string): string {
  return line
    .replace(UNKNOWN, (code) => LETTERS.get(code) ?? (code === '\ufffd' ? code : ''))
    .replace(FORMS, (forms) => forms.normalize('NFKC'))
    .replace(ACCENTED, (pair, accent: string, letter: string) => {
      const composed = `${letter === '\u0131' ? 'i' : letter}${ACCENTS.get(accent) ?? ''}`.normalize()
      return composed.length === 1 ? composed : pair
    })
    .replace(CHECKS, (mark) => symbolsIn(mark, 'Wingdings'))
    .replace(DIVIDING, '-')
}

export function leftOf({ transform }: Pick<Item, 'transform'>): number {
  return Number(transform[4])
}

/** Number of characters whose letters are not known. */
export function unknownIn(items: readonly Item[]): number {
  return items.flatMap(({ str }) => str.match(UNKNOWN) ?? []).filter((code) => !LETTERS.has(code)).length
}

/**
 * The items of a line in the order in which they are read. Those of a line with Hebrew or Arabic, and of one with an item that is printed
 * after those on its right, are sorted by their places; the letters in each are in order already.
 */
export function inReadingOrder(items: readonly Item[]): readonly Item[] {
  const text = items.map(({ str }) => str).join('')
  const printed = items.filter(({ str }) => str.trim() !== '')
  const isSorted = printed.every((item, i) => i === 0 || leftOf(item) + item.width >= leftOf(printed[i - 1] ?? item))
  if (!RIGHT_TO_LEFT.test(text)) return isSorted ? items : spaced(printed)
  const shown = spaced(printed)
  const letters = Array.from(text.matchAll(/\p{L}/gu), ([letter]) => RIGHT_TO_LEFT.test(letter))
  const endsAtRight = /^[.!?:]$/.test(shown.at(-1)?.str.trim() ?? '')
  const isRightToLeft = !endsAtRight && letters.filter(Boolean).length > letters.length / 2
  return isRightToLeft ? turned(shown.toReversed(), LEFT_TO_RIGHT, RIGHT_TO_LEFT) : turned(shown, RIGHT_TO_LEFT, LEFT_TO_RIGHT)
}

/** Items from left to right, with a space in each gap. Points of letters are within these and have no width. */
function spaced(items: readonly Item[]): Item[] {
  let end = Infinity
  return items
    .toSorted((a, b) => leftOf(a) - leftOf(b))
    .flatMap((item, i) => {
      const width = leftOf(item) - end
      end = Math.max(i === 0 ? -Infinity : end, leftOf(item) + item.width)
      return width > WORD_GAP * item.height ? [{ ...item, str: ' ', width }, item] : [item]
    })
}

/**
 * An item of text from right to left: the library leaves the signs in it, and those around a number, as they are shown.
 * @param isAlone in a line from left to right: the signs around it are of that direction
 */
function mirrored(item: Item, isAlone: boolean): Item {
  if (LEFT_TO_RIGHT.test(item.str)) return item
  const [, before = '', inside = '', after = ''] = AROUND.exec(item.str) ?? []
  const backwards = (signs: string): string => [...signs].reverse().join('')
  // Some fonts name the signs that are meant, not those that are shown.
  const turn = (text: string): string =>
    IN_ORDER.test(text) ? text : text.replace(/[()[\]{}<>\u00ab\u00bb]/g, (sign) => MIRRORED.charAt(MIRRORED.indexOf(sign) ^ 1))
  if (isAlone) return { ...item, str: backwards(after) + turn(inside) + backwards(before) }
  return { ...item, str: turn(RIGHT_TO_LEFT.test(item.str) ? item.str : backwards(after) + inside + backwards(before)) }
}

/** Reverses the longest runs of items that begin and end with letters of one direction, and have none of the other. */
function turned(items: readonly Item[], ends: RegExp, others: RegExp): Item[] {
  const found: Item[] = []
  for (let i = 0; i < items.length;) {
    const rest = items.slice(i)
    const other = rest.findIndex(({ str }) => others.test(str))
    const run = rest.slice(0, other < 0 ? undefined : other)
    const length = run.length > 0 && ends.test(run[0]?.str ?? '') ? run.findLastIndex(({ str }) => ends.test(str)) + 1 : 1
    const isTurned = length > 1 === (ends === RIGHT_TO_LEFT)
    const part = rest.slice(0, length).reverse()
    found.push(...part.map((one) => (isTurned || one.dir === 'rtl' ? mirrored(one, !isTurned && ends === RIGHT_TO_LEFT) : one)))
    i += length
  }
  return found
}
