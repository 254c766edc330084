import { Element, isTag, isText, type AnyNode } from 'domhandler'
import { textsOf, type Block } from '../contract.ts'
import { isSkipped, textOf } from './text.ts'

type BlocksOf = (nodes: readonly AnyNode[], depth: number) => Block[]

const INDENT = '  '
/** A format of numbers in a style; names of those with letters. */
export const STYLE = /list-style(?:-type)?\s*:[^;]*?\b((?:lower|upper)-\w+|decimal|none)/i
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
