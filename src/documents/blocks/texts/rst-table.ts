import { at } from '../../../../base/at.ts'
import { joinedLines, type LinesTable, type Unread } from '../contract.ts'
import { rowTexts } from '../markup/row-texts.ts'
import { boxRows, separatedRows } from './plain.ts'

/** The first line of a table as a list or as values, of one without bars, and of one with them. */
const DIRECTIVE = /^(\s*)\.\. (list|csv)-table::\s*(.*)$/
const SIMPLE_RULE = /^\s*=+(?:\s+=+)+\s*$/
const GRID_RULE = /^\s*\+[-=+]+\+\s*$/

/**
 * The table of reStructuredText that begins in a line. One without bars may have blank lines in it. One whose lines do not show its cells
 * stays as it is.
 * @param shown a row as it is printed
 */
export function rstTable(lines: readonly string[], from: number, shown: (text: string) => string, unread: Unread): LinesTable | undefined {
  const first = at(lines, from)
  const directive = DIRECTIVE.exec(first)
  if (directive !== null) {
    const { before, rows, end } = directiveTable(lines, from, unread, directive)
    return { before, block: { kind: 'table', rows: rows.map(shown) }, end }
  }
  const isSimple = SIMPLE_RULE.test(first)
  if (!isSimple && !GRID_RULE.test(first)) return undefined
  const isBlank = (i: number): boolean => (lines.at(i) ?? '').trim() === ''
  const last = isSimple ? lines.findIndex((line, i) => i > from && SIMPLE_RULE.test(line) && isBlank(i + 1)) + 1 : 0
  const blank = lines.findIndex((_, i) => i > from && isBlank(i))
  const end = last || (blank < 0 ? lines.length : blank)
  const table = lines.slice(from, end)
  const rows = (isSimple ? simpleRows : gridRows)(table)
  return { block: rows === undefined ? { kind: 'code', text: table.join('\n') } : { kind: 'table', rows: rows.map(shown) }, end }
}

/** A table that is a list of lists or comma-separated values, below its title. */
function directiveTable(lines: readonly string[], from: number, unread: Unread, [, indent = '', kind, first = '']: readonly string[]) {
  const after = lines.findIndex((line, i) => i > from && /\S/.test(line) && line.search(/\S/) <= indent.length)
  const end = after < 0 ? lines.length : after
  const inside = lines.slice(from + 1, end)
  const begin = [...inside, ''].findIndex((line) => line.trim() === '')
  const [head, content] = [inside.slice(0, begin), inside.slice(begin)]
  const option = (name: string): string | undefined => new RegExp(`^\\s*:${name}:[ \\t]*(.*)`, 'm').exec(head.join('\n'))?.[1]
  const [heads, names, delimiter = ','] = [Number(option('header-rows') ?? 0), option('header'), option('delim')]
  unread.add('included files', Number((option('file') ?? option('url')) !== undefined))
  const rows =
    kind === 'list'
      ? listRows(content, heads, Number(option('stub-columns') ?? 0))
      : separatedRows([names ?? '', ...content], delimiter === 'tab' ? '\t' : delimiter, heads + Number(names !== undefined))
  return { before: [first, ...head.filter((line) => !/^\s*:/.test(line))].join('\n'), rows, end }
}

/** Rows of a list of lists. @param stubs columns that name rows */
function listRows(lines: readonly string[], heads: number, stubs: number): string[] {
  const grid: string[][][] = []
  /** Where the marks of cells stand. */
  let column = Infinity
  for (const line of lines) {
    const [, before = '', mark, text = ''] = /^(\s*(?:[*+-]\s+)?)([*+-])(?:\s+(.*))?$/.exec(line) ?? []
    const isRow = mark !== undefined && /\S/.test(before) && before.length <= column
    if (isRow) [column] = [before.length, grid.push([])]
    if (isRow || (mark !== undefined && before.length === column)) grid.at(-1)?.push([text])
    else grid.at(-1)?.at(-1)?.push(line)
  }
  return rowTexts(
    grid.map((row, i) => ({ isHead: i < heads, cells: row.map((cell, j) => ({ text: joinedLines(cell), isHead: j < stubs })) })),
  )
}

/** Rows of a table that is drawn with bars; undefined if a cell spans others. */
function gridRows(lines: readonly string[]): string[] | undefined {
  const marks = Array.from(at(lines, 0).matchAll(/\+/g), ({ index }) => index)
  const isWhole = (line: string): boolean => marks.every((mark) => line.charAt(mark) === (line.trim().startsWith('+') ? '+' : '|'))
  const isHeaded = lines.some((line) => /^\s*\+[=+]+\+\s*$/.test(line))
  return lines.every(isWhole) ? boxRows(lines, { isWrapped: true, isHeaded }) : undefined
}

/**
 * Rows of a table without bars: a line whose first column is empty continues its row, and a line of dashes below a row joins columns of it.
 * Undefined if a text is in two columns.
 */
function simpleRows([rule = '', ...lines]: readonly string[]): string[] | undefined {
  const columnsOf = (line: string) =>
    Array.from(line.matchAll(/[=-]+/g), ({ 0: { length }, index }) => ({ from: index, to: index + length }))
  const columns = columnsOf(rule)
  const rows: { readonly lines: string[]; spans: typeof columns; isHead: boolean }[] = []
  let isOpen = false
  for (const [i, line] of lines.entries()) {
    if (SIMPLE_RULE.test(line)) for (const row of i < lines.length - 1 ? rows : []) row.isHead = true
    const last = rows.at(-1)
    if (/^[\s=-]*$/.test(line)) {
      if (last !== undefined && /-/.test(line)) last.spans = columnsOf(line)
      isOpen &&= line.trim() === ''
    } else if (isOpen && line.slice(columns[0]?.from, columns[0]?.to).trim() === '') last?.lines.push(line)
    else rows.push({ lines: [line], spans: columns, isHead: false })
    isOpen ||= line.trim() !== '' && rows.at(-1) !== last
  }
  const isWhole = rows.every(({ lines, spans }) =>
    spans.every(({ to }, i) => i === spans.length - 1 || lines.every((line) => line.slice(to, spans[i + 1]?.from).trim() === '')),
  )
  if (!isWhole) return undefined
  return rowTexts(
    rows.map(({ lines, spans, isHead }) => ({
      isHead,
      cells: columns.map((column) => {
        const i = spans.findLastIndex(({ from }) => from <= column.from)
        const parts = lines.map((line) => line.slice(spans[i]?.from, spans[i + 1]?.from).trim()).filter((part) => part !== '')
        return { text: joinedLines(parts).replace(/^\\$/, ''), isRepeat: spans[i]?.from !== column.from }
      }),
    })),
  )
}
