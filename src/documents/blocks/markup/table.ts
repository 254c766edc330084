import { isTag, isText, type AnyNode, type Element } from 'domhandler'
import { isSkipped, textOf } from './text.ts'
import { rowTexts, type GridCell, type GridRow } from './row-texts.ts'

const HEADING = /^h[0-6]$/
const BOLD = new Set(['b', 'strong'])
/** What may be around rows; a form around cells too. */
const SECTIONS = new Set(['thead', 'tbody', 'tfoot', 'form'])
const MOST_SPAN = 100
const SEARCHED = 2000
/** Share of a data table's cells that hold others, and characters in each, at most. */
const [MOST_NESTED, LONGEST_NESTED] = [1 / 3, 300]

interface Row {
  readonly cells: readonly Element[]
  readonly isHead: boolean
}

/**
 * Whether a table is used for layout: its cells hold headings, listings, or tables that are more than values of it, or there is one cell a
 * row, perhaps next to a picture.
 */
export function isLayout(table: Element): boolean {
  const rows = rowsOf(table)
  if (table.attribs.role === 'presentation' || rows.every(({ cells }) => cells.length < 2)) return true
  let searched = 0
  const holds = (nodes: readonly AnyNode[], isOne: (name: string) => boolean): boolean =>
    nodes.some((node) => isTag(node) && searched++ < SEARCHED && (isOne(node.name) || holds(node.children, isOne)))
  // A listing, perhaps beside its line numbers.
  const isListing = rows.length === 1 && rows.every(({ cells }) => cells.some(({ children }) => onlyChild(children)?.name === 'pre'))
  const pictures = rows.flatMap(({ cells }) => cells.filter(({ children }) => isPicture(onlyChild(children))))
  const isPictured =
    pictures.some(({ attribs }) => span(attribs.rowspan) > 1) &&
    rows.every(({ cells }) => cells.filter((cell) => !pictures.includes(cell)).length < 2)
  if (isListing || isPictured) return true
  const cells = rows.flatMap((row) => row.cells)
  if (cells.some(({ children }) => holds(children, (name) => HEADING.test(name)))) return true
  searched = 0
  const nesting = cells.filter(({ children }) => holds(children, (name) => name === 'table'))
  const areValues = rows.filter(({ cells }) => cells.length > 1).length > 1 && nesting.length <= MOST_NESTED * cells.length
  const single = new Set(rows.flatMap(({ cells }) => (cells.length === 1 ? cells : [])))
  return nesting.length > 0 && (!areValues || nesting.some((cell) => single.has(cell) || textOf(cell.children).length > LONGEST_NESTED))
}

/** Rows of a data table as texts, and its caption. @param cellText text of a cell */
export function tableRows(table: Element, depth: number, cellText: (nodes: readonly AnyNode[], depth: number) => string) {
  const caption = table.children.filter(isTag).find(({ name }) => name === 'caption')
  const grid = spread(rowsOf(table), ({ children }) => cellText(children, depth + 1))
  return {
    caption: caption === undefined ? '' : textOf(caption.children, depth + 1),
    rows: rowTexts(grid, table.attribs['data-sheet'] === undefined ? undefined : 'sheet'),
  }
}

export function rowsOf(table: Element): Row[] {
  const shown = (nodes: readonly AnyNode[]): Element[] => nodes.filter(isTag).filter((node) => !isSkipped(node))
  const inside = (nodes: readonly AnyNode[], isHead: boolean): Row[] =>
    shown(nodes).flatMap((node): Row[] => {
      if (SECTIONS.has(node.name)) return inside(node.children, node.name === 'thead')
      if (node.name !== 'tr') return []
      const parts = shown(node.children).flatMap((part) => (part.name === 'form' ? shown(part.children) : [part]))
      const cells = parts.filter(({ name }) => name === 'td' || name === 'th')
      return cells.length === 0 ? [] : [{ cells, isHead }]
    })
  // A footer may stand before the rows above it.
  const isFoot = (node: AnyNode): number => Number(isTag(node) && node.name === 'tfoot')
  const parts = table.children.toSorted((a, b) => isFoot(a) - isFoot(b))
  return inside(parts, false)
}

/** Repeats a spanning cell in each row and column it covers. */
function spread(rows: readonly Row[], textOfCell: (cell: Element) => string): GridRow[] {
  let below: { readonly cell: GridCell; readonly left: number }[] = []
  return rows.map(({ cells, isHead }) => {
    const row: GridCell[] = []
    const next: { cell: GridCell; left: number }[] = []
    const waiting = [...cells].reverse()
    while (waiting.length > 0 || (below[row.length]?.left ?? 0) > 0) {
      const carried = below[row.length]
      if (carried !== undefined && carried.left > 0) {
        next[row.length] = { cell: carried.cell, left: carried.left - 1 }
        row.push(carried.cell)
        continue
      }
      const one = waiting.pop()
      if (one === undefined) break
      const cell = { text: textOfCell(one), isHead: one.name === 'th', isBold: isBold(one) }
      const columns = span(one.attribs.colspan)
      for (let i = 0; i < columns; i++) {
        const covered = i === 0 ? cell : { ...cell, isRepeat: true }
        next[row.length] = { cell: covered, left: span(one.attribs.rowspan === '0' ? String(MOST_SPAN) : one.attribs.rowspan) - 1 }
        row.push(covered)
      }
    }
    below = next
    return { cells: row, isHead }
  })
}

function isPicture(element: Element | undefined): boolean {
  return element !== undefined && (element.attribs['data-image'] !== undefined || isPicture(onlyChild(element.children)))
}

/** The only element among nodes, if there is no text beside it. */
function onlyChild(nodes: readonly AnyNode[]): Element | undefined {
  const shown = nodes.filter((node) => isTag(node) || (isText(node) && node.data.trim() !== ''))
  const [only] = shown
  return shown.length === 1 && only !== undefined && isTag(only) ? only : undefined
}

/** Whether all text of a cell is in one bold element. */
function isBold({ children }: Element): boolean {
  for (let only = onlyChild(children); only !== undefined; only = onlyChild(only.children)) if (BOLD.has(only.name)) return true
  return false
}

function span(given: string | undefined): number {
  const number = Number(given ?? 1)
  return Number.isInteger(number) && number >= 1 ? Math.min(number, MOST_SPAN) : 1
}
