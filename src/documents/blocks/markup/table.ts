import { isTag, type AnyNode, type Element } from 'domhandler'
import { textOf } from './text.ts'
import { rowTexts } from './row-texts.ts'

/** Elements that a cell of a data table does not contain. */
const LAYOUT = new Set(['table', 'ul', 'ol', 'dl', 'pre', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6'])
const SECTIONS = new Set(['thead', 'tbody', 'tfoot'])
/** Maximum cells that one cell may span. */
const MOST_SPAN = 100
const SEARCHED = 2000

interface Row {
  readonly cells: readonly Element[]
  readonly isHead: boolean
}

/** Whether a table is used for layout: its cells hold headings, lists or tables, or there is one cell a row. */
export function isLayout(table: Element): boolean {
  const rows = rowsOf(table)
  if (rows.every(({ cells }) => cells.length < 2)) return true
  let searched = 0
  const holdsBlocks = (nodes: readonly AnyNode[]): boolean =>
    nodes.some((node) => isTag(node) && searched++ < SEARCHED && (LAYOUT.has(node.name) || holdsBlocks(node.children)))
  return rows.some(({ cells }) => cells.some(({ children }) => holdsBlocks(children)))
}

/** Rows of a data table as texts, and its caption. */
export function tableRows(table: Element, depth: number): { readonly caption: string; readonly rows: readonly string[] } {
  const rows = rowsOf(table)
  const caption = table.children.filter(isTag).find(({ name }) => name === 'caption')
  const grid = spread(rows.map(({ cells }) => cells.map((cell) => ({ cell, text: textOf(cell.children, depth + 1) }))))
  const [first] = rows
  const hasHead = first !== undefined && (first.isHead || first.cells.every(({ name }) => name === 'th'))
  return { caption: caption === undefined ? '' : textOf(caption.children, depth + 1), rows: rowTexts(grid, hasHead) }
}

function rowsOf(table: Element): Row[] {
  const inside = (nodes: readonly AnyNode[], isHead: boolean): Row[] =>
    nodes.filter(isTag).flatMap((node): Row[] => {
      if (SECTIONS.has(node.name)) return inside(node.children, node.name === 'thead')
      if (node.name !== 'tr') return []
      const cells = node.children.filter(isTag).filter(({ name }) => name === 'td' || name === 'th')
      return cells.length === 0 ? [] : [{ cells, isHead }]
    })
  return inside(table.children, false)
}

interface Cell {
  readonly cell: Element
  readonly text: string
}

/** Repeats a spanning cell in each row and column it covers. */
function spread(rows: readonly (readonly Cell[])[]): string[][] {
  let below: { readonly text: string; readonly left: number }[] = []
  return rows.map((cells) => {
    const row: string[] = []
    const next: { text: string; left: number }[] = []
    const waiting = [...cells]
    while (waiting.length > 0 || (below[row.length]?.left ?? 0) > 0) {
      const carried = below[row.length]
      if (carried !== undefined && carried.left > 0) {
        next[row.length] = { text: carried.text, left: carried.left - 1 }
        row.push(carried.text)
        continue
      }
      const one = waiting.shift()
      if (one === undefined) break
      const { cell, text } = one
      for (let i = span(cell.attribs.colspan); i > 0; i--) {
        next[row.length] = { text, left: span(cell.attribs.rowspan) - 1 }
        row.push(text)
      }
    }
    below = next
    return row
  })
}

function span(given: string | undefined): number {
  const number = Number(given ?? 1)
  return Number.isInteger(number) && number >= 1 ? Math.min(number, MOST_SPAN) : 1
}
