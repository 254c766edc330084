import { isTag, isText, type AnyNode, type Element } from 'domhandler'
import { DocumentError } from '../../errors.ts'
import { inline } from '../contract.ts'

/** What holds no sentences of the page. */
const SKIPPED =
  /^(?:script|style|noscript|template|svg|math-annotation|button|select|datalist|input|textarea|iframe|object|img|audio|video|canvas|nav|title)$/
/** What ends a paragraph. */
export const BLOCKS = new Set(
  (
    'address article aside blockquote body caption center details dd dir div dl dt fieldset figcaption figure footer form header hr html li main ' +
    'h0 h1 h2 h3 h4 h5 h6 hgroup legend listing menu p plaintext pre search section summary table tbody td tfoot th thead tr xmp'
  ).split(' '),
)
/** Links that a generator puts beside headings: a mark, an icon, or a word for it. Others of these classes hold the text itself. */
const PERMALINK = /\b(?:headerlink|anchor|hash-link|permalink|anchorjs-link)\b/
/** Numbers next to the lines of a listing, and links to an editor. */
const LINE_NUMBERS = /\b(?:mw-editsection|linenos?|line-?numbers?|blob-num|hljs-ln-n(?:umbers)?)\b/
const NO_TEXT = /^(?:[^\p{L}\p{N}]*|\s*(?:anchor|link|permalink)\s*)$/iu
/** Characters of a link that are looked at: a longer one is text. */
const LONGEST_MARK = 40
/** Letters that end a word in superscript: 2nd, 3e, 1a. */
const ORDINAL = /^(?:\p{L}{2,}|[eaod\u00aa\u00ba])$/u
/** A style that hides an element. */
export const HIDDEN = /display\s*:\s*none|visibility\s*:\s*hidden/i
/** Where raised digits are cents: after a price in whole units with its sign, or before the sign; a power of ten is none. */
const [PRICED, WHOLE, CURRENCY] = [/\p{Sc}\s?\d{1,3}(?:[.,]?\d{3})*$/u, /(?<![\d.,])\d{1,3}(?:[.,]?\d{3})*$/, /^\s?(?:\p{Sc}|EUR\b)/u]
/** Cents after a point that is not raised, which are no number of a note after a sentence. */
const CENTS = /^(?:0\d|[5-9]\d)$/
/** Where the number of a note is: after punctuation, a currency, or a word that is no unit; a unit with a number has three powers. */
const NOTED = /(?:[.,;:!?"\u201d)\]%$\u20ac\u00a3]|\p{L}{4,}|(?<!\p{L})\p{Lu}{3})$/u
const [UNIT, POWER] = [/\d\s(?:\p{L}{2,3}|[ghlmst])$/u, /^[2-4]$/]
/** A word that no number is a part of, as of "14C". */
const WORD = /^\p{Lu}\p{Ll}{2}/u
/** Where a letter is a note's: "XIXe" has none. */
const LETTERED = /(?:[.,;:!?"\u201d)\]]|\p{L}{3,}\p{Ll})$/u
const MAX_DEPTH = 512

export function textOf(nodes: readonly AnyNode[], depth = 0): string {
  return inline(rawText(nodes, depth))
}

/** The characters of an element as they are. @param around what separates a block from the text around it */
function rawText(nodes: readonly AnyNode[], depth = 0, around = ' '): string {
  checkDepth(depth)
  return nodes
    .map((node) => {
      if (isText(node)) return node.data
      if (!isTag(node) || isSkipped(node)) return ''
      if (node.name === 'br') return '\n'
      const text = rawText(node.children, depth + 1, around)
      return BLOCKS.has(node.name) ? around + text + around : text
    })
    .join('')
}

/** The text of a listing: each block in it is a line. */
export function codeText(nodes: readonly AnyNode[], depth = 0): string {
  return rawText(nodes, depth, '\u001e')
    .replace(/\n?\u001e+/g, '\n')
    .replace(/\u00a0/g, ' ')
    .replace(/^\s*\n/, '')
    .trimEnd()
    .normalize()
}

export function isSkipped(element: Element): boolean {
  return SKIPPED.test(element.name) || isHidden(element)
}

export function isHidden({ name, attribs, children }: Element): boolean {
  return (
    attribs.hidden !== undefined ||
    (name === 'dialog' && attribs.open === undefined) ||
    attribs.role === 'navigation' ||
    [attribs['epub:type'], attribs.role].some((kind) => kind?.includes('pagebreak')) ||
    HIDDEN.test(attribs.style ?? '') ||
    (attribs['aria-hidden'] === 'true' && (!BLOCKS.has(name) || name === 'figcaption')) ||
    LINE_NUMBERS.test(attribs.class ?? '') ||
    (name === 'a' && PERMALINK.test(attribs.class ?? '') && NO_TEXT.test(beginningOf(children)))
  )
}

/** The first characters inside an element. Not by recursion: links inside each other would be read again for each one around them. */
function beginningOf(nodes: readonly AnyNode[]): string {
  let text = ''
  const waiting = nodes.toReversed()
  for (let node = waiting.pop(); node !== undefined && text.length <= LONGEST_MARK; node = waiting.pop()) {
    if (isText(node)) text += node.data
    else if (isTag(node) && !SKIPPED.test(node.name)) for (const one of node.children.toReversed()) waiting.push(one)
  }
  return text
}

/** A text that is struck out, which is not one word or number with others. @param before the text before it */
export function struck(text: string, before: string): string {
  const shown = text.trim()
  return shown === '' ? text : `${/[\p{L}\p{N}]$/u.test(before) ? ' ' : ''}~~${shown}~~ `
}

/** The elements around a node, innermost first. @param most number of them that are looked at */
export function* ancestors({ parent }: AnyNode, most = Infinity): Generator<Element> {
  for (let [above, i] = [parent, 0]; above !== null && isTag(above) && i < most; above = above.parent, i++) yield above
}

/** @throws document_invalid */
export function checkDepth(depth: number): void {
  if (depth > MAX_DEPTH) throw new DocumentError('damaged', `The page has elements nested deeper than ${MAX_DEPTH}.`)
}

/**
 * The text of a superscript: "^6" in 10^6, "nd" in 2nd, "[1]" of a note, ".99" in $19.99.
 * @param before the text before it
 * @param isLink the number is a note's
 * @param after the text after it
 */
export function raisedText(text: string, before: string, isLink = false, after = ''): string {
  if (isLink && /^\d+$/.test(text)) return `[${text}]`
  // The number of an address before it.
  if (text === '' || before === '' || /\s$/.test(before) || /^\s/.test(text))
    return /^\d{1,2}$/.test(text) && WORD.test(after) ? `[${text}] ` : text
  if (/\s$/.test(text)) return `${raisedText(text.trimEnd(), before, isLink)} `
  if (/^TM$/i.test(text)) return '\u2122'
  if (/^\d\d$/.test(text) && !/(?<!\d)10$/.test(before)) {
    const whole = before.replace(/[.,]$/, '')
    const point = PRICED.test(whole) ? '.' : WHOLE.test(whole) && CURRENCY.test(after) ? ',' : undefined
    if (point !== undefined && (whole === before || CENTS.test(text))) return (whole === before ? point : '') + text
  }
  const place = before.slice(-8)
  if (/^\d+$/.test(text) ? NOTED.test(place) || (UNIT.test(place) && !POWER.test(text)) : /^\p{Ll}$/u.test(text) && LETTERED.test(place))
    return `[${text}]`
  if (ORDINAL.test(text) || !/^[-+\u2212\u2013\p{L}\p{N}]/u.test(text)) return text
  return /^[-+\u2212\u2013]?(?:\p{L}|[\d.,]+)$/u.test(text) ? `^${text}` : `^(${text})`
}
