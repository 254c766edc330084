import { at } from '../../../../base/at.ts'
import { inline, type LinesTable } from '../contract.ts'
import { rowTexts, type GridCell, type GridRow } from '../markup/row-texts.ts'
import { BRACED } from './list-lines.ts'

const NAME = String.raw`\{(?:x?longtable|x?tab(?:ular|u)\w*)\*?\}`
const BEGIN = String.raw`\\begin${NAME}(?:\[[^\]\n]*\]|\{${BRACED}\}){1,3}`
const TABLE = new RegExp(String.raw`^([^]*?)${BEGIN}([^]*)\\end${NAME}$`)
const EDGE = new RegExp(String.raw`\\(begin|end)${NAME}`, 'g')
/** What else has columns in a cell: a matrix, or cases. */
const FORMULA = /\\begin\{(?!x?(?:longtable|tab))[^}]*\}(?:(?!\\(?:begin|end)\b)[^])*/g
const REMARK = /(?<!\\)%.*/g
const MARKS = /\\\\|(?<!(?<!\\)\\)&/g
/** A cell in braces, as above numbers of siunitx. */
const WHOLE = /^\s*\{([^{}]*)\}\s*$/
const VERBATIM = /\\verb\*?([^\w\s*])(.*?)\1/g
/** A table that breaks the lines of a cell. */
const INNER = new RegExp(String.raw`${BEGIN}((?:(?!\\(?:begin|end)${NAME})[^])*)\\end${NAME}`, 'g')
/** What stands above and below a table on each further page. */
const AGAIN = /(?<=\\endfirsthead\b)[^]*?\\endhead\b|(?<=\\endhead\b)[^]*?\\endfoot\b/g
/** The title of a table of several pages, which is a row of it. */
const CAPTION = new RegExp(String.raw`\\caption\*?(?:\[[^\]]*\])?\{(${BRACED})\}\s*(?:\\label\{[^}]*\}\s*)?(?:\\\\)?`, 'g')
const CELL = new RegExp(String.raw`((?:\{${BRACED}\}|\\[^\\]|[^\\&])*)(&|\\\\\*?(?:[ \t]*\[[^\]\n]*\])?|\\?$)`, 'g')
const RULE =
  /\\(?:(hline|midrule|end(?:first)?head|(?:top|bottom|cmid|special)rule|end(?:last)?foot|cline)|addlinespace|rowcolor|noalign)\b(?:\([^)]*\)|\[[^\]]*\]|\{[^}]*\})*/g
const BELOW_NAMES = /^(?:midrule|endhead|endfirsthead)$/
const SPANNING = new RegExp(
  String.raw`\\multi(column|row)(?:\[[^\]]*\])?\{(-?\d+)\}(?:\[[^\]]*\])?(?:\*|\{${BRACED}\})(?:\[[^\]]*\])?\{(${BRACED})\}`,
)
/** Columns of a cell, and tables in each other: a text in which none ends is looked through in linear time. */
const [MOST_SPAN, MOST_NESTED] = [100, 10]

/** The table of LaTeX that begins in a line; undefined if it has no end. @param shown a text as it is printed */
export function texTable(lines: readonly string[], from: number, shown: (text: string) => string): LinesTable | undefined {
  const [last = from, length = 0] = closeOf(lines, from) ?? []
  const [, start = '', source] = TABLE.exec([...lines.slice(from, last), at(lines, last).slice(0, length)].join('\n')) ?? []
  if (source === undefined) return undefined
  const once = source
    .replace(VERBATIM, (_, _mark, inside: string) => inside.replace(/[&%$#_]/g, '\\$&'))
    .replace(REMARK, '')
    .replace(AGAIN, '')
    .replace(/\\tabularnewline\b/g, '\\\\')
  const titles = Array.from(once.matchAll(CAPTION), ([, title = '']) => title.replace(/\\label\{[^}]*\}/g, ''))
  const rows = rowTexts(
    rowsOf(once.replace(CAPTION, ''), (cell) => inline(shown(cell.replace(/\\\\|\\newline\b/g, ' ').replace(WHOLE, '$1')))),
  )
  return { before: [start, ...titles].join('\n'), block: { kind: 'table', rows }, after: at(lines, last).slice(length), end: last + 1 }
}

/** The last line of the table that begins in a line, and the length of what it has of it. */
function closeOf(lines: readonly string[], from: number): readonly [number, number] | undefined {
  for (let [last, open] = [from, 0]; last < lines.length; last++) {
    for (const { 0: found, 1: edge, index } of at(lines, last).replace(REMARK, '').matchAll(EDGE))
      if (edge === 'begin') open++
      else if (open > 0 && --open === 0) return [last, index + found.length]
    if (open === 0 || open > MOST_NESTED) return undefined
  }
  return undefined
}

function rowsOf(source: string, shown: (text: string) => string): GridRow[] {
  const flat = source.replace(FORMULA, (part) => part.replace(MARKS, ' ')).replace(INNER, (_, inner: string) => inner.replace(MARKS, ' '))
  const grid: GridCell[][] = [[]]
  const rules: { readonly name: string; readonly rows: number }[] = []
  /** Texts of cells that continue downwards, by column. */
  const below = new Map<number, { readonly text: string; left: number }>()
  for (const [, cell = '', end] of flat.matchAll(CELL)) {
    const row = grid.at(-1) ?? []
    for (const [, name] of cell.matchAll(RULE)) if (name !== undefined) rules.push({ name, rows: grid.length - 1 })
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
