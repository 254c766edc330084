import { isTag, type AnyNode, type Element } from 'domhandler'
import type { Block } from '../contract.ts'
import { textOf } from './text.ts'

/** Parses an item's content. */
type BlocksOf = (nodes: readonly AnyNode[], depth: number) => Block[]

/** Items of a list with their marks; a definition list's read "term: definition". */
export function listItems(list: Element, blocksOf: BlocksOf, depth: number): string[] {
  if (list.name === 'dl') return definitions(list, blocksOf, depth)
  const start = Number(list.attribs.start ?? 1)
  let number = Number.isSafeInteger(start) ? start : 1
  return elements(list.children).flatMap((item) => {
    const mark = list.name === 'ol' ? `${number++}. ` : '- '
    // Some editors nest a list without an enclosing item.
    if (item.name === 'ul' || item.name === 'ol') return listItems(item, blocksOf, depth + 1)
    return itemTexts(blocksOf(item.children, depth + 1)).map((text) => (/^(?:- |\d+\. )/.test(text) ? text : mark + text))
  })
}

/** An item's own text, code included, then the items and rows inside it. */
function itemTexts(blocks: readonly Block[]): string[] {
  const texts: string[] = []
  let own = ''
  for (const block of blocks) {
    if (block.kind === 'list' || block.kind === 'table') {
      if (own !== '') texts.push(own)
      own = ''
      texts.push(...(block.kind === 'list' ? block.items : block.rows.map((row) => `- ${row}`)))
    } else own += own === '' ? block.text : (block.kind === 'code' ? '\n' : ' ') + block.text
  }
  return own === '' ? texts : [...texts, own]
}

function definitions(list: Element, blocksOf: BlocksOf, depth: number): string[] {
  const items: string[] = []
  let terms: string[] = []
  for (const entry of elements(list.children).flatMap((one) => (one.name === 'div' ? elements(one.children) : [one]))) {
    if (entry.name === 'dt') terms.push(textOf(entry.children, depth + 1))
    else {
      const [text = '', ...inner] = itemTexts(blocksOf(entry.children, depth + 1))
      items.push(`- ${[terms.join(', '), text].filter((part) => part !== '').join(': ')}`, ...inner)
      terms = []
    }
  }
  return terms.length > 0 ? [...items, ...terms.map((term) => `- ${term}`)] : items
}

function elements(nodes: readonly AnyNode[]): Element[] {
  return nodes.filter(isTag)
}
