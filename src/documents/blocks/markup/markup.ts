import { isTag, isText, type AnyNode, type Element } from 'domhandler'
import { inline, textsOf, type Block } from '../contract.ts'
import { listItems } from './list.ts'
import { isLayout, tableRows } from './table.ts'
import { BLOCKS, checkDepth, codeText, isSkipped, textOf } from './text.ts'

const HEADING = /^h([1-6])$/
/** What stands between the links of a menu. */
const MARKS = /^[\s|[\]<>\u00ab\u00bb\u00b7\u2022]*$/

/** Converts parsed HTML to blocks, in document order. @throws document_invalid if elements are nested too deeply */
export function markupBlocks(nodes: readonly AnyNode[], depth = 0): Block[] {
  const walk = new Walk()
  walk.all(nodes, depth)
  walk.endParagraph()
  return walk.blocks
}

class Walk {
  readonly blocks: Block[] = []
  #text = ''

  all(nodes: readonly AnyNode[], depth: number): void {
    checkDepth(depth)
    for (const node of nodes) {
      if (isText(node)) this.#text += node.data
      else if (isTag(node) && !isSkipped(node)) this.#element(node, depth)
    }
  }

  endParagraph(): void {
    const text = inline(this.#text)
    this.#text = ''
    if (!MARKS.test(text)) this.blocks.push({ kind: 'paragraph', text })
  }

  #element(element: Element, depth: number): void {
    const { name, children } = element
    const level = HEADING.exec(name)?.[1]
    if (level !== undefined) return this.#push(headingOf(textOf(children, depth + 1), Number(level)))
    if (name === 'pre') return this.#push({ kind: 'code', text: codeText(children, depth + 1) })
    if (name === 'ul' || name === 'ol' || name === 'dl')
      return this.#push({ kind: 'list', items: listItems(element, markupBlocks, depth + 1) })
    if (name === 'table' && !isLayout(element)) return this.#table(element, depth)
    if (name === 'br') this.#text += '\n'
    const isBlock = BLOCKS.has(name) || name === 'table'
    if (isBlock) this.endParagraph()
    this.all(children, depth + 1)
    if (isBlock) this.endParagraph()
  }

  #table(element: Element, depth: number): void {
    const { caption, rows } = tableRows(element, depth + 1, cellText)
    this.#push({ kind: 'paragraph', text: caption })
    this.#push({ kind: 'table', rows })
  }

  #push(block: Block): void {
    this.endParagraph()
    if ('text' in block ? block.text !== '' : textsOf(block).length > 0) this.blocks.push(block)
  }
}

function headingOf(text: string, level: number): Block {
  return { kind: 'heading', level, text: text.replace(/\s*[\u00b6\uf0c1]$/, '') }
}

/** The text of a cell in one line; a list in it reads "one, two". */
function cellText(nodes: readonly AnyNode[], depth: number): string {
  return markupBlocks(nodes, depth)
    .map((block) => {
      if ('text' in block) return inline(block.text)
      return textsOf(block)
        .map((line) => line.replace(/^[\s-]+/, ''))
        .join(', ')
    })
    .join(' ')
}
