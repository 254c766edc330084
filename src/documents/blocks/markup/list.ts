import { Element, isTag, isText, type AnyNode } from 'domhandler'
import { DomUtils } from 'htmlparser2'
import { textsOf, type Block } from '../contract.ts'
import { bulletMark } from './symbols.ts'
import { ancestors, isSkipped, textOf } from './text.ts'

type BlocksOf = (nodes: readonly AnyNode[], depth: number) => Block[]

const INDENT = '  '
/** A format of numbers in a style; names of those with letters. */
const STYLE = /list-style(?:-type)?\s*:[^;]*?\b((?:lower|upper)-\w+|decimal|none)/i
/** A class of Docutils for such a format. */
const CLASS = /(?<![\w-])(?:lower|upper)-?(?:alpha|roman)(?![\w-])/
const LETTERED = /^(?:[ai]|(?:lower|upper)-?(?:letter|roman|alpha|latin)|(?:alpha|roman)[lu]c)$/i
const ROMAN = Object.entries({ m: 1000, cm: 900, d: 500, cd: 400, c: 100, xc: 90, l: 50, xl: 40, x: 10, ix: 9, v: 5, iv: 4, i: 1 })

/** Items of a list with their marks, those of nested lists indented; a definition list's read "term: definition". */
export function listItems(list: Element, blocksOf: BlocksOf, depth: number): string[] {
  if (list.name === 'dl') return definitions(list, blocksOf, depth)
  const items = entriesOf(list)
  const isReversed = list.attribs.reversed !== undefined
  const { type, style = '', class: names = '' } = list.attribs
  const [, format = type ?? CLASS.exec(names)?.[0]] = STYLE.exec(style) ?? []
  let number = integer(list.attribs.start) ?? (isReversed ? items.filter(({ name }) => name === 'li').length : 1)
  return items.flatMap((item) => {
    // Some editors nest a list without an enclosing item.
    if (item.name === 'ul' || item.name === 'ol') return listItems(item, blocksOf, depth + 1).map((line) => INDENT + line)
    const own = integer(item.attribs.value) ?? number
    const isNumbered = list.name === 'ol' && item.name === 'li' && format !== 'none'
    if (isNumbered) number = own + (isReversed ? -1 : 1)
    const mark = item.attribs['data-mark'] ?? (isNumbered ? `${numberText(own, format)}.` : '-')
    return itemTexts(blocksOf(item.children, depth + 1), mark)
  })
}

/** What a list shows: its elements, and text between them. */
function entriesOf({ children }: Element): Element[] {
  return children.flatMap((node) => {
    if (isText(node)) return node.data.trim() === '' ? [] : [new Element('span', {}, [node.cloneNode()])]
    return isTag(node) && !isSkipped(node) ? [node] : []
  })
}

/** A number as numbered lists show it: "3", "c", "C", "iii" or "III". @param format its name in HTML, CSS, Word or PowerPoint */
export function numberText(number: number, format = ''): string {
  if (number < 1 || number > 3999 || !LETTERED.test(format)) return String(number)
  let [left, text] = [number, '']
  if (/^i$|roman/i.test(format)) for (const [letters, value] of ROMAN) for (; left >= value; left -= value) text += letters
  for (; left > 0; left = Math.floor((left - 1) / 26)) text = String.fromCharCode(97 + ((left - 1) % 26)) + text
  return /^[AI]$|upper|Uc/.test(format) ? text.toUpperCase() : text
}

/** The value of a number that is written as "xiv"; undefined for other text. */
export function romanValue(text: string): number | undefined {
  let [rest, value] = [text.toLowerCase(), 0]
  for (const [letters, one] of ROMAN) for (; rest.startsWith(letters); rest = rest.slice(letters.length)) value += one
  return rest === '' && value > 0 ? value : undefined
}

/** An item's own text after its mark, code included; the items and rows inside it, and text after them, are indented. */
function itemTexts(blocks: readonly Block[], mark: string): string[] {
  const texts: string[] = []
  let own = ''
  const end = (): void => {
    if (own !== '') texts.push((texts.length === 0 ? `${mark} ` : INDENT) + own)
    own = ''
  }
  for (const block of blocks) {
    if (block.kind === 'list' || block.kind === 'table') {
      end()
      if (texts.length === 0 && mark !== '-') texts.push(mark)
      for (const one of textsOf(block).map((line) => INDENT + (block.kind === 'list' ? line : `- ${line}`))) texts.push(one)
    } else own += own === '' ? block.text : (block.kind === 'code' ? '\n' : ' ') + block.text
  }
  end()
  return texts
}

function definitions(list: Element, blocksOf: BlocksOf, depth: number): string[] {
  const items: string[] = []
  let terms: string[] = []
  for (const entry of entriesOf(list).flatMap((one) => (isGroup(one) ? entriesOf(one) : [one]))) {
    if (entry.name === 'dt') terms.push(textOf(entry.children, depth + 1))
    else {
      const term = terms.filter((one) => one !== '').join(', ')
      const [first, ...inner] = itemTexts(blocksOf(entry.children, depth + 1), term === '' ? '-' : `- ${term.replace(/:$/, '')}:`)
      if (first === undefined) continue
      items.push(first, ...inner)
      terms = []
    }
  }
  return terms.length > 0 ? [...items, ...terms.map((term) => `- ${term}`)] : items
}

/** Whether an element stands around terms: a group, or a paragraph that a generator has opened. */
function isGroup({ children }: Element): boolean {
  const shown = children.filter((node) => isTag(node) || (isText(node) && node.data.trim() !== ''))
  return shown.length > 0 && shown.every((node) => isTag(node) && /^d[td]$/.test(node.name))
}

function integer(given: string | undefined): number | undefined {
  const number = Number(given ?? Number.NaN)
  return Number.isSafeInteger(number) ? number : undefined
}

/** A rule of a style sheet for one selector. */
export interface Rule {
  readonly selector: string
  readonly style: string
}

/** Selectors of lists: of a class, in so many others, and of what stands before the items of a class or a kind of list, or of all. */
const [OF_CLASS, IN_OTHERS, BEFORE] = [
  /^(?:[ou]l)?\.([\w-]+)(?:\s*>?\s*li)?$/i,
  /^ol(?:\s+ol)*$/i,
  /^(?:([ou]l)?(?:\.([\w-]+))?[\s>]+)?li::?(?:before|marker)$/i,
]
/** A text before items, its parts, and the counter that a list sets to 0. */
const CONTENT = /content\s*:([^;]*)/i
const PARTS = /"([^"]*)"|\bcounter(s?)\(\s*([\w-]+)\s*(?:,\s*"([^"]*)"\s*)?(?:,\s*([\w-]+)\s*)?\)/gi
const RESET = /counter-reset\s*:\s*([\w-]+)/i
/** Names of the lists of Google Docs, with their levels. */
const LEVEL = /(?:^|\s)(lst-kix_\w+)-(\d)(?:\s|$)/
const MOST_ABOVE = 30

/** Numbers and marks lists as the style sheet of their page does, and puts those of Google Docs, which follow each other, into each other. */
export function styleLists(elements: readonly Element[], rules: readonly Rule[]): void {
  const [formats, marks, resets] = [new Map<string, string>(), new Map<string, string>(), new Map<string, string>()]
  for (const { selector, style } of rules) {
    const [, format = 'none'] = STYLE.exec(style) ?? []
    const name = OF_CLASS.exec(selector)?.[1] ?? IN_OTHERS.exec(selector)?.[0].replace(/\s+/g, ' ')
    // Lists without numbers may have others, which a style draws.
    if (name !== undefined && format !== 'none') formats.set(name, format)
    const [, reset] = RESET.exec(style) ?? []
    if (name !== undefined && reset !== undefined) resets.set(name, reset)
    const [before, kind = '', ofClass = kind] = BEFORE.exec(selector) ?? []
    const [, content] = CONTENT.exec(style) ?? []
    if (before !== undefined && content !== undefined) marks.set(ofClass, content.replaceAll("'", '"'))
  }
  const [lists, page] = [new Map<Element, Counted>(), new Map<string, number>()]
  for (const list of elements) {
    if (list.name === 'li' && lists.size > 0) markItem(list, lists, page)
    if (list.name !== 'ol' && list.name !== 'ul') continue
    const names = list.attribs.class?.split(/\s+/) ?? []
    const around = formats.size === 0 ? 0 : [...ancestors(list, MOST_ABOVE)].filter(({ name }) => name === 'ol').length
    const depths = Array.from({ length: around + 1 }, (_, i) => `ol${' ol'.repeat(around - i)}`)
    const [format] = [...names, ...(list.name === 'ol' ? depths : [])].flatMap((name) => formats.get(name) ?? [])
    if (format !== undefined) list.attribs.type = format
    const [content] = [...names, list.name, ''].flatMap((name) => marks.get(name) ?? [])
    if (content !== undefined) {
      const parts = [...content.matchAll(PARTS)]
      const [, , isPath, own = ''] = parts.findLast(([, , , name]) => name !== undefined) ?? []
      // Numbers in numbers are those of the lists around.
      const isReset = isPath || [...names, list.name].some((name) => resets.get(name) === own)
      const counts = isReset ? new Map([[own, 0]]) : page
      if (list.attribs.start !== undefined) counts.set(own, Number(list.attribs.start) - 1)
      lists.set(list, { parts, own, counts })
    }
    nest(list)
  }
}

/** What a style shows before the items of a list, its last counter, which counts them, and the counters that it sets to 0, else the page's. */
interface Counted {
  readonly parts: readonly RegExpExecArray[]
  readonly own: string
  readonly counts: Map<string, number>
}

/** Marks an item by the text before it: its numbers, or a sign that says something. */
function markItem(item: Element, lists: ReadonlyMap<Element, Counted>, page: Map<string, number>): void {
  const around = [...ancestors(item, MOST_ABOVE)].map((one) => lists.get(one))
  const [list] = around
  if (list === undefined) return
  const { parts, own, counts } = list
  counts.set(own, (counts.get(own) ?? 0) + 1)
  const all = [...new Set([...around.flatMap((one) => one?.counts ?? []), page])].toReversed()
  const shown = parts.map(([, text, isPath, name = '', between, format]) => {
    const numbers = all.flatMap((one) => one.get(name) ?? []).slice(isPath ? 0 : -1)
    return text === undefined ? numbers.map((one) => numberText(one, format)).join(between) : cssText(text)
  })
  const mark = own === '' ? bulletMark(shown.join('')) : shown.join('').trim()
  if (mark !== '-') item.attribs['data-mark'] = mark
}

/** A text of a style sheet, whose letters may be written as numbers. */
export function cssText(text = ''): string {
  return text.replace(/\\0?([\da-f]{1,5})\s?/gi, (_, code: string) => String.fromCodePoint(Number.parseInt(code, 16)))
}

/** Puts a list into the one before it, if that is of a higher level. */
function nest(list: Element): void {
  const before = DomUtils.prevElementSibling(list)
  const [, name, level] = LEVEL.exec(list.attribs.class ?? '') ?? []
  const [, nameBefore, levelBefore] = LEVEL.exec(before?.attribs.class ?? '') ?? []
  const depth = Number(level) - Number(levelBefore)
  if (before === null || !(depth > 0 || (depth === 0 && name === nameBefore))) return
  DomUtils.removeElement(list)
  let inner: Element = list
  for (let i = 1; i < depth; i++) {
    const outer = new Element('ul', {})
    DomUtils.appendChild(outer, inner)
    inner = outer
  }
  for (const child of depth === 0 ? [...list.children] : [inner]) DomUtils.appendChild(before, child)
}
