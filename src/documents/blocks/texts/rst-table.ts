import { at } from '../../../../base/at.ts'
import { joinedLines, type Block } from '../contract.ts'
import { rowTexts } from '../markup/row-texts.ts'
import { boxRows } from './plain.ts'

/** The first line of a table of reStructuredText, and of one without bars. */
export const RST_TABLE = /^\s*(?:=+(?:\s+=+)+|\+[-=+]+\+)\s*$/
const SIMPLE_RULE = /^\s*=+(?:\s+=+)+\s*$/

/**
 * The table that begins at a line, and where the text after it begins: one without bars may have blank lines in it. One whose lines do not show
 * its cells stays as it is.
 * @param shown a row as it is printed
 */
export function rstTable(
  lines: readonly string[],
  from: number,
  shown: (row: string) => string,
): { readonly block: Block; readonly end: number } {
  const isBlank = (i: number): boolean => (lines.at(i) ?? '').trim() === ''
  const isSimple = SIMPLE_RULE.test(at(lines, from))
  const last = isSimple ? lines.findIndex((line, i) => i > from && SIMPLE_RULE.test(line) && isBlank(i + 1)) + 1 : 0
  const blank = lines.findIndex((_, i) => i > from && isBlank(i))
  const end = last || (blank < 0 ? lines.length : blank)
  const table = lines.slice(from, end)
  const rows = (isSimple ? simpleRows : gridRows)(table)
  return { block: rows === undefined ? { kind: 'code', text: table.join('\n') } : { kind: 'table', rows: rows.map(shown) }, end }
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
