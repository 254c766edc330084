import { Element, isTag, isText, type AnyNode } from 'domhandler'
import { DomUtils } from 'htmlparser2'
import { textsOf, type Block } from '../contract.ts'
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
      texts.push(...textsOf(block).map((line) => INDENT + (block.kind === 'list' ? line : `- ${line}`)))
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

/** Selectors of lists: of a class, in so many others, and of what stands before their items. */
const [OF_CLASS, IN_OTHERS, BEFORE] = [
  /^(?:[ou]l)?\.([\w-]+)(?:\s*>?\s*li)?$/i,
  /^ol(?:\s+ol)*$/i,
  /^[ou]?l?\.([\w-]+)\s*>?\s*li::?before$/i,
]
/** A text before items that counts them, and its parts. */
const COUNTED = /content\s*:([^;]*\bcounter\([^;]*)/i
const PARTS = /"([^"]*)"|\bcounter\(\s*([\w-]+)\s*(?:,\s*([\w-]+)\s*)?\)/gi
/** Names of the lists of Google Docs, with their levels. */
const LEVEL = /(?:^|\s)(lst-kix_\w+)-(\d)(?:\s|$)/
const MOST_ABOVE = 9

/** Numbers lists as the style sheet of their page does, and puts those of Google Docs, which follow each other, into each other. */
export function styleLists(elements: readonly Element[], rules: readonly Rule[]): void {
  const formats = new Map<string, string>()
  const marks = new Map<string, string>()
  for (const { selector, style } of rules) {
    const [, format = 'none'] = STYLE.exec(style) ?? []
    const name = OF_CLASS.exec(selector)?.[1] ?? IN_OTHERS.exec(selector)?.[0].replace(/\s+/g, ' ')
    // Lists without numbers may have others, which a style draws.
    if (name !== undefined && format !== 'none') formats.set(name, format)
    const [, before, content = COUNTED.exec(style)?.[1]] = BEFORE.exec(selector) ?? []
    if (before !== undefined && content !== undefined) marks.set(before, content)
  }
  const counts = new Map<string, number>()
  for (const list of elements) {
    if (list.name !== 'ol' && list.name !== 'ul') continue
    const names = list.attribs.class?.split(/\s+/) ?? []
    const around = formats.size === 0 ? 0 : [...ancestors(list, MOST_ABOVE)].filter(({ name }) => name === 'ol').length
    const depths = Array.from({ length: around + 1 }, (_, i) => `ol${' ol'.repeat(around - i)}`)
    const format = [...names, ...(list.name === 'ol' ? depths : [])].map((name) => formats.get(name)).find((one) => one !== undefined)
    if (format !== undefined) list.attribs.type = format
    const content = names.map((name) => marks.get(name)).find((one) => one !== undefined)
    if (content !== undefined) numberItems(list, content, counts)
    nest(list)
  }
}

/** Marks items by the text before them, whose last counter counts them. */
function numberItems(list: Element, content: string, counts: Map<string, number>): void {
  const parts = [...content.matchAll(PARTS)]
  const own = parts.findLast(([, , name]) => name !== undefined)?.[2] ?? ''
  const { start } = list.attribs
  if (start !== undefined) counts.set(own, Number(start) - 1)
  for (const item of list.children) {
    if (!isTag(item) || item.name !== 'li') continue
    counts.set(own, (counts.get(own) ?? 0) + 1)
    const shown = parts.map(([, text, name = '', format]) => text ?? numberText(counts.get(name) ?? 0, format))
    item.attribs['data-mark'] = shown.join('').trim()
  }
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
