import { at } from '../../../../base/at.ts'
import type { LinesTable } from '../contract.ts'
import { rowTexts, type GridCell, type GridRow } from '../markup/row-texts.ts'
import { BRACED } from './list-lines.ts'

const NAME = String.raw`\{(?:x?longtable|x?tab(?:ular|u)\w*)\*?\}`
const BEGIN = String.raw`\\begin${NAME}(?:\[[^\]\n]*\]|\{${BRACED}\}){1,3}`
const TABLE = new RegExp(String.raw`^([^]*?)${BEGIN}([^]*)\\end${NAME}([^]*)$`)
const EDGE = new RegExp(String.raw`\\(begin|end)${NAME}`, 'g')
/** A table that breaks the lines of a cell. */
const INNER = new RegExp(String.raw`${BEGIN}((?:(?!\\(?:begin|end)${NAME})[^])*)\\end${NAME}`, 'g')
/** What stands above and below a table on each further page. */
const AGAIN = /(?<=\\endfirsthead\b)[^]*?\\endhead\b|(?<=\\endhead\b)[^]*?\\endfoot\b/g
/** The title of a table of several pages, which is a row of it. */
const CAPTION = new RegExp(String.raw`\\caption\*?(?:\[[^\]]*\])?\{(${BRACED})\}\s*(?:\\label\{[^}]*\}\s*)?(?:\\\\)?`, 'g')
const CELL = new RegExp(String.raw`((?:\{${BRACED}\}|\\[^\\]|[^\\&])*)(&|\\\\\*?(?:[ \t]*\[[^\]\n]*\])?|\\?$)`, 'g')
const RULE =
  /\\(hline|midrule|end(?:first)?head|(?:top|bottom|cmid|special)rule|end(?:last)?foot|cline|addlinespace|rowcolor|noalign)\b(?:\([^)]*\)|\[[^\]]*\]|\{[^}]*\})*/g
const BELOW_NAMES = /^(?:midrule|endhead|endfirsthead)$/
const SPANNING = new RegExp(
  String.raw`\\multi(column|row)(?:\[[^\]]*\])?\{(-?\d+)\}(?:\[[^\]]*\])?(?:\*|\{${BRACED}\})(?:\[[^\]]*\])?\{(${BRACED})\}`,
)
/** Columns of a cell, lines of a table, and tables in each other. */
const [MOST_SPAN, MOST_LINES, MOST_OPEN] = [100, 10_000, 9]

/** The table of LaTeX that begins in a line; undefined if it has no end. @param shown a cell as it is printed */
export function texTable(lines: readonly string[], from: number, shown: (text: string) => string): LinesTable | undefined {
  if (/^\s*%/.test(at(lines, from))) return undefined
  let end = from
  for (let open = openedIn(at(lines, from)); open > 0; open += openedIn(at(lines, end)))
    if (++end === lines.length || end > from + MOST_LINES || open > MOST_OPEN) return undefined
  const [, start = '', source, after = ''] = TABLE.exec(lines.slice(from, end + 1).join('\n')) ?? []
  if (source === undefined) return undefined
  const once = source
    .replace(/(?<!\\)%.*/g, '')
    .replace(AGAIN, '')
    .replace(/\\tabularnewline\b/g, '\\\\')
  const titles = Array.from(once.matchAll(CAPTION), ([, title]) => title)
  const rows = rowTexts(rowsOf(once.replace(CAPTION, ''), shown))
  return { before: [start, ...titles].join('\n'), block: { kind: 'table', rows }, after, end: end + 1 }
}

/** How many tables a line begins, less those that it ends. */
function openedIn(line: string): number {
  return Array.from(line.matchAll(EDGE)).reduce((sum, [, edge]) => sum + (edge === 'begin' ? 1 : -1), 0)
}

function rowsOf(source: string, shown: (text: string) => string): GridRow[] {
  const flat = source.replace(INNER, (_, inner: string) => inner.replace(/\\\\|&/g, ' '))
  const grid: GridCell[][] = [[]]
  const rules: { readonly name: string; readonly rows: number }[] = []
  /** Texts of cells that continue downwards, by column. */
  const below = new Map<number, { readonly text: string; left: number }>()
  for (const [, cell = '', end] of flat.matchAll(CELL)) {
    const row = grid.at(-1) ?? []
    for (const [, name = ''] of cell.matchAll(RULE)) rules.push({ name, rows: grid.length - 1 })
    let [own, columns] = [cell.replace(RULE, ''), 1]
    for (let span = SPANNING.exec(own); span !== null; span = SPANNING.exec(own)) {
      const [all, kind, count, inside = ''] = span
      own = own.replace(all, () => inside)
      if (kind === 'column') columns = Math.min(Number(count), MOST_SPAN)
      else below.set(row.length, { text: shown(own), left: Number(count) })
    }
    const above = below.get(row.length)
    const isBelow = above !== undefined && above.left-- > 0 && own.trim() === ''
    const found = { text: isBelow ? above.text : shown(own), isBold: /^\s*\\(?:textbf|thead|bfseries|bf)\b/.test(own) }
    for (let i = 0; i < columns; i++) row.push({ ...found, isRepeat: i > 0 })
    if (end !== '&') grid.push([])
  }
  const rows = grid.filter((row) => row.some(({ text }) => text !== ''))
  const inner = rules.filter(({ rows: count }) => count > 0 && count < rows.length)
  const isRuled = new Set(inner.map(({ rows: count }) => count)).size < rows.length - 1
  const heads = (inner.find(({ name }) => BELOW_NAMES.test(name)) ?? (isRuled ? inner[0] : undefined))?.rows ?? 0
  return rows.map((cells, i) => ({ cells, isHead: i < heads && heads <= rows.length / 2 }))
}
