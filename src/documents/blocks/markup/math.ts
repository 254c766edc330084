import { isTag, isText, type AnyNode, type Element } from 'domhandler'
import { inline } from '../contract.ts'

/** Nesting of formulas that is followed. */
const MAX_DEPTH = 100
/** What joins the parts of an element of MathML or Office Math. */
const FORMS: Readonly<Record<string, (parts: readonly string[], element: Element) => string>> = {
  mfrac: ([over = '', under = ''], element) =>
    element.attribs.linethickness === '0' || attributeOf(element, 'type') === 'noBar'
      ? ` binom(${over}, ${under})`
      : `${grouped(over)}/${grouped(under)}`,
  msup: ([base = '', above = '']) => base + script('^', above),
  msub: ([base = '', below = '']) => base + script('_', below),
  msubsup: ([base = '', below = '', above = '']) => base + script('_', below) + script('^', above),
  mover: ([base = '', above = '']) => base + (ACCENTS.get(above) ?? script('^', above)),
  mroot: ([base = '', degree = '']) => `root(${degree}, ${base})`,
  msqrt: (parts) => `sqrt(${parts.join('')})`,
  mtr: (parts) => `${parts.join(', ')}; `,
  mmultiscripts: ([base = '', ...scripts], { children }) => {
    const before = children.filter(isTag).findIndex(({ name }) => localName(name) === 'mprescripts')
    const pairs = scripts.map((one, i) => script((before > 0 && i >= before ? i - before : i) % 2 === 0 ? '_' : '^', one))
    return (before > 0 ? `${pairs.slice(before).join('')} ` : '') + base + pairs.slice(0, before > 0 ? before - 1 : undefined).join('')
  },
  mfenced: (parts, { attribs: { open = '(', close = ')', separators = ',' } }) => open + separated(parts, separators.trim()) + close,
  rad: ([degree = '', base = '']) => (degree === '' ? `sqrt(${base})` : `root(${degree}, ${base})`),
  nary: ([below = '', above = '', base = ''], element) =>
    `${attributeOf(element, 'chr') ?? '\u222b'}${script('_', below)}${script('^', above)} ${base}`,
  d: (parts, element) =>
    (attributeOf(element, 'begChr') ?? '(') +
    separated(parts, attributeOf(element, 'sepChr') ?? '|') +
    (attributeOf(element, 'endChr') ?? ')'),
  func: (parts) => parts.join(' '),
  sPre: ([below = '', above = '', base = '']) => `${script('_', below)}${script('^', above)} ${base}`,
  acc: ([base = ''], element) => base + (attributeOf(element, 'chr') ?? '\u0302'),
  groupChr: ([base = ''], element) => {
    const sign = attributeOf(element, 'chr') ?? ''
    return ARROW.test(sign) ? ` ${sign}${script('^', base)} ` : base
  },
  phant: ([base = ''], element) => (/^(?:0|false|off)$/.test(attributeOf(element, 'show') ?? '') ? '' : base),
  bar: ([base = '']) => `${base}\u0305`,
  eqArr: (parts) => parts.join('; '),
}
/** Office Math's names of them. */
const SAME: Readonly<Record<string, string>> = {
  ...{ f: 'mfrac', sSup: 'msup', sSub: 'msub', sSubSup: 'msubsup', mr: 'mtr' },
  ...{ munder: 'msub', munderover: 'msubsup', limLow: 'msub', limUpp: 'msup' },
}
/** Signs above or below a letter, as marks that combine with it. */
export const ACCENTS = new Map(
  [
    ...['`\u0300', '\u00b4\u0301', '^\u0302', '\u02c6\u0302', '~\u0303', '\u02dc\u0303', '\u00af\u0304', '\u203e\u0304'],
    ...['\u02d8\u0306', '\u02d9\u0307', '\u00a8\u0308', '\u02da\u030a', '\u02dd\u030b', '\u02c7\u030c', '\u2192\u20d7', '\u00b8\u0327'],
  ].map((pair) => [pair.charAt(0), pair.charAt(1)]),
)
/** Properties, what was deleted, and the formula again in another notation. */
const SKIPPED = /^(?:annotation(?:-xml)?|[a-zA-Z]+Pr|mphantom|del|moveFrom)$/
const LONGEST_NAME = 40
/** A sign over or under a text that says more than a brace: the arrow of a reaction. */
const ARROW = /[\u2190-\u21ff\u27f0-\u27ff]/
/** A script, a denominator or a name of a function, which a letter after it would continue. */
const CONTINUABLE = /(?:[_^/](?:\p{L}+|[\p{N}.,]+)|(?<!\p{L})(?:sin|cos|tan|log|ln|exp|lim|max|min|det))$/u

/** A formula of MathML or Office Math in one line: "x^2", "(a+b)/c", "sqrt(x)". */
export function mathText(element: Element): string {
  return inline(linear(element, 0))
}

function linear(node: AnyNode, depth: number): string {
  // Operators that are not shown.
  if (isText(node)) return node.data.replace(/[\s\u2061-\u2064]+/g, ' ')
  if (!isTag(node) || depth > MAX_DEPTH) return ''
  const name = localName(node.name)
  if (SKIPPED.test(name)) return ''
  const children = node.children.filter(isTag)
  if (children.length === 0) return node.children.map((child) => linear(child, depth + 1)).join('')
  const shown = children.filter((child) => !SKIPPED.test(localName(child.name)))
  const parts = shown.map((child) => linear(child, depth + 1))
  const form = FORMS[SAME[name] ?? name]
  const trimmed = parts.map((part) => part.trim())
  if (form !== undefined) return form(trimmed, node)
  return parts.reduce((text, part, i) => {
    // "3 1/2" is not 31/2.
    const isMixed = /^m?f(?:rac)?$/.test(localName(shown[i]?.name ?? '')) && /[\p{L}\p{N}]$/u.test(text) && /^\p{N}/u.test(part)
    const isContinued = CONTINUABLE.test(text.slice(-LONGEST_NAME)) && /^[\p{L}\p{N}]/u.test(part)
    return `${text}${isMixed || isContinued ? ' ' : ''}${part}`
  }, '')
}

/** A name without its prefix. */
export function localName(name: string): string {
  return name.replace(/^[^:]*:/, '')
}

function attributeOf({ children }: Element, property: string): string | undefined {
  const properties = children.filter(isTag).find(({ name }) => /Pr$/.test(name))
  const found = properties?.children.filter(isTag).find(({ name }) => localName(name) === property)
  return found === undefined ? undefined : (found.attribs['m:val'] ?? found.attribs.val)
}

/** Parts with a sign between them; the last of several signs is repeated. */
function separated(parts: readonly string[], signs: string): string {
  return parts.map((part, i) => (i === 0 ? part : (signs[i - 1] ?? signs.slice(-1)).replace(/[,;]/, '$& ') + part)).join('')
}

function script(mark: string, text: string): string {
  return text === '' ? '' : mark + grouped(text)
}

/** A letter, a number or a word as it is, other text in parentheses. */
function grouped(text: string): string {
  return /^(?:\p{L}|[\p{N}.,]*|\p{L}{3,})$/u.test(text) ? text : `(${text})`
}
