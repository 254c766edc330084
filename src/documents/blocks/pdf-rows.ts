import { at } from '../../../base/at.ts'
import { areApart, overlap, type Extent, type PrintedLine } from './markup/printed-tables.ts'

/** In heights of letters: the difference of bases of one row, the distance of lines of a cell at most. */
const [SAME_BASE, LEADING] = [0.1, 1.4]

/**
 * Lines of a page by rows, where the wrapped cells of a table are printed after all others, as spreadsheets print them: some are left of a cell
 * that is printed earlier. As they are if cells of a row would overlap.
 */
export function rowsInPlace<Line extends PrintedLine>(lines: readonly Line[]): readonly Line[] {
  const late = lines.findIndex((line, i) => i > 0 && line.base > at(lines, i - 1).base + line.height / 2)
  if (late < 0) return lines
  const wide = new Map(lines.slice(0, late).flatMap(({ base, cells = [] }, i) => (cells.length > 1 ? [[Math.round(10 * base), i]] : [])))
  const known = lines.slice(late).flatMap(({ base, cells = [] }) => {
    const row = wide.get(Math.round(10 * base))
    const last = row === undefined ? undefined : lines[row]?.cells?.at(-1)
    return row !== undefined && last !== undefined && (cells.at(-1)?.right ?? Infinity) < last.left ? [row] : []
  })
  if (known.length === 0) return lines
  const first = known.reduce((least, row) => Math.min(least, row))
  const parts = [...lines.slice(first, late).map((line) => [line]), ...runsOf(lines.slice(late))]
  const rows: Line[][][] = []
  let low = Infinity
  for (const part of parts.sort((a, b) => topOf(b) - topOf(a))) {
    const isNew = topOf(part) < low - SAME_BASE * at(part, 0).height || rows.length === 0
    if (isNew) rows.push([part])
    else rows.at(-1)?.push(part)
    low = Math.min(isNew ? Infinity : low, lowOf(part))
  }
  if (!rows.every((row) => areApart(row.flatMap(cellsOf).sort((a, b) => a.left - b.left)))) return lines
  // The lowest of equal height first: the lines of one row begin again above those of the cell before.
  const ordered = rows.flatMap((row) => row.sort((a, b) => topOf(a) - topOf(b) || lowOf(a) - lowOf(b)))
  return [...lines.slice(0, first), ...ordered.flat()]
}

/** The cells of a line, or the one of several. */
function cellsOf(lines: readonly PrintedLine[]): readonly Extent[] {
  return lines.length > 1 ? [extentOf(lines)] : (lines[0]?.cells ?? [])
}

function extentOf(lines: readonly PrintedLine[]): Extent {
  const none: Extent = { left: Infinity, right: -Infinity }
  return lines
    .flatMap(({ cells = [] }) => cells)
    .reduce((a, b) => ({ left: Math.min(a.left, b.left), right: Math.max(a.right, b.right) }), none)
}

/** Lines below each other at one distance, which is smaller than that of rows. */
function runsOf<Line extends PrintedLine>(lines: readonly Line[]): Line[][] {
  const runs: Line[][] = []
  for (const line of lines) {
    const run = runs.at(-1) ?? []
    const [first, second] = run
    const gap = (run.at(-1) ?? line).base - line.base
    const most = first && second ? first.base - second.base + SAME_BASE * line.height : LEADING * line.height
    const isBelow = gap > 0 && gap < most && first !== undefined && overlap(extentOf([first]), extentOf([line]))
    if (isBelow) run.push(line)
    else runs.push([line])
  }
  return runs
}

function topOf(lines: readonly PrintedLine[]): number {
  return at(lines, 0).base
}

function lowOf(lines: readonly PrintedLine[]): number {
  return at(lines, lines.length - 1).base
}
