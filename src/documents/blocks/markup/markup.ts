import { isTag, isText, type AnyNode, type Element } from 'domhandler'
import { inline, textsOf, unwrapped, type Block } from '../contract.ts'
import { listItems } from './list.ts'
import { isLayout, tableRows } from './table.ts'
import { BLOCKS, checkDepth, codeText, isSkipped, textOf } from './text.ts'
import { elementsIn, tidy } from './tidy.ts'

const HEADING = /^h([0-6])$/
/** What stands between the links of a menu, and no empty check box. */
const MARKS = /^(?![^]*\[ \])[\s|[\]<>\u00ab\u00bb\u00b7\u2022]*$/

/** Blocks of elements of HTML that a parser has made; paragraphs of code are the lines of one listing. @throws as `markupBlocks` */
export function madeBlocks(nodes: readonly AnyNode[]): Block[] {
  tidy(elementsIn(nodes))
  const blocks: Block[] = []
  for (const block of markupBlocks(nodes)) {
    const last = blocks.at(-1)
    if (last?.kind === 'code' && block.kind === 'code') blocks.splice(-1, 1, { ...last, text: `${last.text}\n${block.text}` })
    else blocks.push(block)
  }
  return blocks
}

/**
 * Converts parsed HTML to blocks, in document order.
 * @param isCell of a table, where a mark alone is a value
 * @throws document_invalid if elements are nested too deeply
 */
export function markupBlocks(nodes: readonly AnyNode[], depth = 0, isCell = false): Block[] {
  const blocks: Block[] = []
  let text = ''
  const endParagraph = (): void => {
    const paragraph = inline(text)
    text = ''
    if (isCell ? paragraph !== '' : !MARKS.test(paragraph)) blocks.push({ kind: 'paragraph', text: paragraph })
  }
  const push = (block: Block): void => {
    endParagraph()
    if ('text' in block ? block.text !== '' : textsOf(block).length > 0) blocks.push(block)
  }
  const readElement = (element: Element, depth: number): void => {
    const { name, children } = element
    const level = HEADING.exec(name)?.[1]
    if (level !== undefined)
      return push({ kind: 'heading', level: Number(level), text: textOf(children, depth + 1).replace(/\s*[\u00b6\uf0c1]$/, '') })
    if (name === 'pre') return push({ kind: 'code', text: codeText(children, depth + 1) })
    if (name === 'ul' || name === 'ol' || name === 'dl') return push({ kind: 'list', items: listItems(element, markupBlocks, depth + 1) })
    if (name === 'table' && !isLayout(element)) {
      const { caption, rows } = tableRows(element, depth + 1, cellText)
      push({ kind: 'paragraph', text: caption })
      return push({ kind: 'table', rows })
    }
    if (name === 'br') text += '\n'
    if (BLOCKS.has(name)) endParagraph()
    read(children, depth + 1)
    if (BLOCKS.has(name)) endParagraph()
  }
  const read = (nodes: readonly AnyNode[], depth: number): void => {
    checkDepth(depth)
    for (const node of nodes) {
      if (isText(node)) text += unwrapped(node.data)
      else if (isTag(node) && !isSkipped(node)) readElement(node, depth)
    }
  }
  read(nodes, depth)
  endParagraph()
  return blocks
}

/** The text of a cell in one line; a list in it reads "one, two", a table "(name: value; name: value), (name: value)". */
function cellText(nodes: readonly AnyNode[], depth: number): string {
  return markupBlocks(nodes, depth, true)
    .map((block) => {
      if ('text' in block) return inline(block.text)
      const isTable = block.kind === 'table' && block.rows.some((row) => row.includes('; '))
      return textsOf(block)
        .map((line) => (isTable ? `(${line})` : line.replace(/^\s*- /, '')))
        .join(', ')
    })
    .join(' ')
}
