import { isTag, isText, type AnyNode, type Element } from 'domhandler'
import { inline } from '../contract.ts'

/** Nesting of formulas that is followed. */
const MAX_DEPTH = 100
/** What joins the parts of an element of MathML or Office Math. */
const FORMS: Readonly<Record<string, (parts: readonly string[]) => string>> = {
  mfrac: ([over = '', under = '']) => `${grouped(over)}/${grouped(under)}`,
  msup: ([base = '', above = '']) => `${base}^${grouped(above)}`,
  msub: ([base = '', below = '']) => `${base}_${grouped(below)}`,
  msubsup: ([base = '', below = '', above = '']) => `${base}_${grouped(below)}^${grouped(above)}`,
  mroot: ([base = '', degree = '']) => `root(${degree}, ${base})`,
  msqrt: (parts) => `sqrt(${parts.join('')})`,
  mtr: (parts) => `${parts.join(', ')}; `,
}
/** Office Math's names of them. */
const SAME: Readonly<Record<string, string>> = {
  f: 'mfrac',
  sSup: 'msup',
  sSub: 'msub',
  sSubSup: 'msubsup',
  mr: 'mtr',
  munder: 'msub',
  mover: 'msup',
  munderover: 'msubsup',
  limLow: 'msub',
  limUpp: 'msup',
}
/** Properties, and the formula again in another notation. */
const SKIPPED = /^(?:annotation(?:-xml)?|[a-zA-Z]+Pr|mphantom)$/

/** A formula of MathML or Office Math in one line: "x^2", "(a+b)/c", "sqrt(x)". */
export function mathText(element: Element): string {
  return inline(linear(element, 0))
}

function linear(node: AnyNode, depth: number): string {
  if (isText(node)) return node.data.replace(/\s+/g, ' ')
  if (!isTag(node) || depth > MAX_DEPTH) return ''
  const name = node.name.replace(/^[^:]*:/, '')
  if (SKIPPED.test(name)) return ''
  const children = node.children.filter(isTag)
  if (children.length === 0) return node.children.map((child) => linear(child, depth + 1)).join('')
  const shown = children.filter((child) => !SKIPPED.test(child.name.replace(/^[^:]*:/, '')))
  const parts = shown.map((child) => linear(child, depth + 1).trim())
  if (name === 'rad') {
    const [degree = '', base = ''] = parts
    return degree === '' ? `sqrt(${base})` : `root(${degree}, ${base})`
  }
  if (name === 'nary') {
    const [below = '', above = '', base = ''] = parts
    const sign = attributeOf(node, 'chr') ?? '\u222b'
    return `${sign}${below === '' ? '' : `_${grouped(below)}`}${above === '' ? '' : `^${grouped(above)}`} ${base}`
  }
  if (name === 'd') return `${attributeOf(node, 'begChr') ?? '('}${parts.join(', ')}${attributeOf(node, 'endChr') ?? ')'}`
  const form = FORMS[SAME[name] ?? name]
  // A text run keeps its spaces.
  return form === undefined ? shown.map((child) => linear(child, depth + 1)).join('') : form(parts)
}

function attributeOf({ children }: Element, property: string): string | undefined {
  const properties = children.filter(isTag).find(({ name }) => /Pr$/.test(name))
  const found = properties?.children.filter(isTag).find(({ name }) => name.replace(/^[^:]*:/, '') === property)
  return found === undefined ? undefined : (found.attribs['m:val'] ?? found.attribs.val)
}

function grouped(text: string): string {
  return /^[\p{L}\p{N}.,]*$/u.test(text) ? text : `(${text})`
}
