import { at } from '../../../../base/at.ts'
import { inline, joinedLines } from '../contract.ts'
import { isNumber, rowTexts } from './row-texts.ts'

/** Distances of lines in heights of letters, at most: in a table, in a cell, of cells of one row, next to each other. */
const [ROW_GAP, LEADING, MIDDLE, SAME_BASE] = [4, 1.4, 0.9, 0.1]
/** Most lines of a cell that is followed by others of its row, and rows of a table. */
const [MOST_WRAPPED, MOST_ROWS] = [7, 200]
/** Lines in which a table is looked for: at first, and at most. */
const [FIRST_READ, MOST_READ] = [64, MOST_WRAPPED * MOST_ROWS]
const LEAST_COLUMNS = 3
/** Characters of a cell in a table without names at most. */
const SHORT = 24
const YEAR = /^(?:19|20)\d{2}$/

/** Part of a line between gaps that are wider than those of words; lengths in one unit. */
export interface Cell {
  readonly text: string
  readonly left: number
  readonly right: number
}

export interface PrintedLine {
  readonly text: string
  /** Height of its letters, and how far above a common line it begins. */
  readonly height: number
  readonly base: number
  /** The font of all its letters. */
  readonly font?: string
  readonly cells?: readonly Cell[]
  /** All its letters are as wide. */
  readonly isFixed?: boolean
  /** A row of a table. */
  readonly isRow?: boolean
}

interface Row<Line> {
  readonly lines: readonly Line[]
  readonly cells: readonly Cell[]
}

/** Lines of a page; rows name their columns in tables with empty cells or several lines, where a line does not show whose its values are. */
export function withColumnNames<Line extends PrintedLine>(lines: readonly Line[]): readonly Line[] {
  const named: Line[] = []
  let table: ReturnType<typeof tableOf<Line>>
  for (let i = 0; i < lines.length;) {
    const [above, line] = [lines[i - 1], lines[i]]
    // A table that was read ends above the line.
    const isOfTable = table === undefined && above && line && !isForm(above) && isWithin(above, line)
    const isFirst = line?.cells !== undefined && !isForm(line) && !isOfTable && (line.cells.length > 1 || isCell(lines, i))
    table = isFirst ? tableAt(lines, i) : undefined
    named.push(...(table?.shown ?? lines.slice(i, i + 1)))
    i += table?.read ?? 1
  }
  return named
}

/** Whether a line is of a cell that is printed with all of its lines before others of its row, which has none on its left. */
function isCell(lines: readonly PrintedLine[], i: number): boolean {
  const { base, height, cells: [cell] = [] } = at(lines, i)
  const others = lines
    .slice(i + 1, i + 1 + MOST_WRAPPED)
    .flatMap(({ base, cells = [] }) => cells.slice(0, 1).map((first) => ({ ...first, base })))
  const row = others.filter((first) => cell !== undefined && Math.abs(first.base - base) < MIDDLE * height && !overlap(first, cell))
  const edge = Math.min(cell?.left ?? 0, ...row.map(({ left }) => left))
  return row.length > 0 && others.every(({ right }) => right >= edge)
}

/** Whether a line is one of a form, whose names stand before their values. */
function isForm({ cells = [] }: PrintedLine): boolean {
  return cells.some(({ text }) => text.endsWith(':')) && cells.at(-1)?.text.endsWith(':') === false
}

/** Whether a line is a row with empty cells of the table that the line above it is a row of, and names no years. */
function isWithin({ cells: wider = [], base: above }: PrintedLine, { cells = [], base, height }: PrintedLine): boolean {
  const isNext = above > base && above - base < ROW_GAP * height
  return isNext && wider.length > cells.length && !cells.every(({ text }) => YEAR.test(text)) && placesIn(wider, cells) !== undefined
}

/** The table at a line. Only one that comes near the end of the first lines is looked for in more: most lines begin none. */
function tableAt<Line extends PrintedLine>(lines: readonly Line[], at: number) {
  for (let most = FIRST_READ; ; most = MOST_READ) {
    const read = lines.slice(at, at + most)
    const table = tableOf(withWholeNames(rowsOf(read)), lines[at - 1]?.cells)
    if (table === undefined || read.length < most || most === MOST_READ || table.read < most - MOST_WRAPPED ** 2) return table
  }
}

/** The rows that lines begin with. A cell may be printed with all of its lines before the next, which then begins above the last of them. */
function rowsOf<Line extends PrintedLine>(lines: readonly Line[]): Row<Line>[] {
  const rows: Line[][] = []
  for (const [i, line] of lines.entries()) {
    const gapTo = ({ base }: Line): number => (base - line.base) / line.height
    const recent = rows.slice(-MOST_WRAPPED)
    const again = recent.findIndex((row) => row.some((other) => gapTo(other) < SAME_BASE))
    const low = Math.min(...(rows.at(-1) ?? []).map(({ base }) => base))
    // The cells of one line may be printed before those of several, below these.
    const above = lines.slice(i, i + MOST_WRAPPED).filter(({ base }) => base < low)
    const isFar = rows.length > 0 && again < 0 && above.every(({ base }) => low - base > ROW_GAP * line.height)
    if (isFar || (again === 0 && rows.length > MOST_WRAPPED) || rows.length > MOST_ROWS) break
    const whole = again < 0 ? [] : rows.splice(again - recent.length)
    const others = whole.filter((row) => areRows(rowOf(row), rowOf([line])))
    rows.push(...others, [...whole.filter((row) => !others.includes(row)).flat(), line])
  }
  return withWrapped(rows.map(rowOf))
}

function rowOf<Line extends PrintedLine>(lines: readonly Line[]): Row<Line> {
  const cells = lines.flatMap(({ cells = [] }) => cells)
  return { lines, cells: lines.length === 1 ? cells : cells.reduce<readonly Cell[]>(withCell, []) }
}

/** Rows with the lines of one cell that stand above and below them, closer than rows do. */
function withWrapped<Line extends PrintedLine>(rows: readonly Row<Line>[]): Row<Line>[] {
  const groups: Row<Line>[][] = []
  const basesOf = (row: Row<Line> | undefined): readonly number[] => row?.lines.map(({ base }) => base) ?? []
  for (const row of rows) {
    const gap = Math.min(...basesOf(groups.at(-1)?.at(-1))) - Math.max(...basesOf(row))
    const [group, height] = [groups.at(-1), Math.min(...[groups.at(-1)?.at(-1), row].map((one) => one?.lines[0]?.height ?? Infinity))]
    // Cells of one line are in the middle of those of two. Numbers below each other are two, next to the name of both.
    if (gap < MIDDLE * height && !areRows(group?.at(-1), row)) group?.push(rowOf([...(group.pop()?.lines ?? []), ...row.lines]))
    else if (gap <= LEADING * height) group?.push(row)
    else groups.push([row])
  }
  // Of two lines, one may be what a cell of the other has no room for.
  const isOne = (group: readonly Row<Line>[]): boolean =>
    group.filter(({ cells }) => cells.length > 1).length === 1 || (group.length === 2 && sharedCells(group[0], group[1]).length === 1)
  return groups.flatMap((group) => (isOne(group) ? [rowOf(group.flatMap(({ lines }) => lines))] : group))
}

/** Rows of which the first two may be names that are divided: each cell of the shorter one is above or below a name of numbers, or both are bold. */
function withWholeNames<Line extends PrintedLine>(rows: readonly Row<Line>[]): readonly Row<Line>[] {
  const [first, second, ...below] = rows
  if (first === undefined || second === undefined) return rows
  const [short, long] = [first.cells, second.cells].sort((a, b) => a.length - b.length) as [readonly Cell[], readonly Cell[]]
  const columns = placesIn(long, short)?.map((place) => at(long, place)) ?? []
  const texts = [...long, ...short].map(({ text }) => text)
  // Names below groups of columns are repeated.
  const areGroups = new Set(second.cells.map(({ text }) => text)).size < second.cells.length
  const areNames = texts.every((text) => !isNumber(text) || YEAR.test(text)) && !areGroups
  if (short.length === long.length || columns.length === 0 || columns[0] === long[0] || !areNames) return rows
  const whole = rowOf([...first.lines, ...second.lines])
  const near = below.slice(0, MOST_WRAPPED).flatMap(({ cells }) => (cells.length > 1 ? cells : []))
  const areNumbers = columns.every((column) => {
    const values = near.filter((cell) => overlap(column, cell))
    return values.length > 0 && values.every(({ text }) => isNumber(text))
  })
  return areNumbers || isBold(whole, below) ? [whole, ...below] : rows
}

/** Cells of a row, each with those of the other one below it. */
function sharedCells(above: Row<PrintedLine> | undefined, below: Row<PrintedLine> | undefined): readonly (readonly Cell[])[] {
  const pairs = above?.cells.map((cell) => [cell, ...(below?.cells ?? []).filter((other) => overlap(cell, other))]) ?? []
  return pairs.filter(({ length }) => length > 1)
}

/** Whether two rows have numbers below each other, perhaps next to a name of both: no lines of cells. */
function areRows(above: Row<PrintedLine> | undefined, below: Row<PrintedLine> | undefined): boolean {
  const shared = sharedCells(above, below)
  return shared.length > 1 && shared.flat().every(({ text }) => isNumber(text))
}

/** Parts below each other are one cell. */
function withCell(cells: readonly Cell[], cell: Cell): readonly Cell[] {
  const parts = [...cells.filter((other) => overlap(other, cell)), cell]
  const whole = parts.reduce((a, b) => ({ ...joined(a, b), text: joinedLines([a.text, b.text]) }))
  return [...cells.filter((other) => !overlap(other, cell)), whole].sort((a, b) => a.left - b.left)
}

/**
 * The table below a row of names, or of numbers: how many lines it has, and those to show. Undefined if there is none.
 * @param above the line before it, which may have names of groups
 */
function tableOf<Line extends PrintedLine>([head, ...others]: readonly Row<Line>[], above: readonly Cell[] = []) {
  const [first, label] = [head?.cells[0], others[0]?.cells[0]]
  // A title may have been joined with a line above it.
  if (head === undefined || head.cells.length < 2 || first === undefined || label === undefined) return undefined
  // Above the names of rows there may be nothing, and a page may begin with a row that has empty cells.
  const wider = others.slice(0, MOST_WRAPPED).find(({ cells }) => cells.length > head.cells.length)?.cells ?? []
  const own = placesIn(wider, head.cells)
  const names =
    own === undefined
      ? [...(label.right < first.left ? [{ ...label, text: '' }] : []), ...head.cells]
      : wider.map((cell, i) => head.cells[own.indexOf(i)] ?? { ...cell, text: '' })
  if (names.length < LEAST_COLUMNS || !areApart(names)) return undefined
  const isNames = (cells: readonly Cell[]): boolean =>
    cells.some(({ text }) => /\p{L}/u.test(text)) && cells.length > 1 && cells.every(({ text }, i) => text === head.cells[i]?.text)
  const end = others.findIndex(({ cells }, i) => cells.length > names.length || isNames(cells) || isNext(cells, others[i + 1]))
  const below = others.slice(0, end < 0 ? undefined : end)
  const columns = below.reduce<readonly Extent[]>((known, { cells }) => {
    const isFull = cells.length === known.length
    const own = isFull ? [...known.keys()] : ((cells.length > 1 ? placesIn(known, cells) : undefined) ?? [])
    const wider = known.map((column, i) => {
      const whole = joined(column, cells[own.indexOf(i)] ?? column)
      // A cell of another row may be two that are close: only outwards is no other column that it may be of.
      return { left: isFull || i === 0 ? whole.left : column.left, right: isFull || i === known.length - 1 ? whole.right : column.right }
    })
    return areApart(wider) ? wider : known
  }, names)
  const places = below.map(({ cells }) => placesIn(columns, cells))
  /** Whether a row has texts below numbers alone: it names further columns of a sheet. */
  const hasNames = ({ cells }: Row<Line>, i: number): boolean => {
    const under = cells.filter((_, k) => {
      const column = places[i]?.[k] ?? -1
      const upper = below.slice(0, i).flatMap((row, j) => row.cells[places[j]?.indexOf(column) ?? -1]?.text ?? [])
      return upper.length > 1 && upper.every(isNumber)
    })
    return under.length > 1 && !under.some(({ text }) => isNumber(text))
  }
  const placed = below.slice(0, [...below.map((row, i) => (hasNames(row, i) ? undefined : places[i])), undefined].indexOf(undefined))
  const rows = placed.slice(0, placed.findLastIndex(({ cells }) => cells.length > 1) + 1)
  if (rows.length === 0) return undefined
  const all = [head, ...rows].flatMap(({ lines }) => lines)
  const isWhole = names.slice(1).every(({ text }) => text !== '')
  if (isWhole && rows.every(({ lines, cells }) => lines.length === 1 && (cells.length === 1 || cells.length === names.length)))
    return inLines(all)
  const grid = rows.map(({ cells }, i) => columns.map((_, column) => ({ text: cells[places[i]?.indexOf(column) ?? -1]?.text ?? '' })))
  const isHead = isBold(head, rows) || names.slice(1).every(({ text }) => YEAR.test(text))
  const texts = rowTexts([{ isHead, cells: inGroups(names, above) }, ...grid.map((cells) => ({ isHead: false, cells }))], 'page')
  const isNamed = texts.length === rows.length
  // Without names, numbers in all columns but the first show that it is a table, or short cells of which most rows have all.
  const whole = rows.filter(({ cells }) => cells.length === names.length)
  const areNumbers = [...(own === undefined || whole.length === 0 ? [names] : []), ...grid].every(([, ...others]) =>
    others.every(({ text }) => text === '' || isNumber(text)),
  )
  const areShort = [names, ...grid].flat().every(({ text }) => text.length <= SHORT)
  const isMostlyWhole = isWhole && whole.length > rows.length / 2
  if (!isNamed && !areNumbers && !(areShort && isMostlyWhole))
    return isMostlyWhole && rows.every(({ lines }) => lines.length === 1) ? inLines(all) : undefined
  const shown = rows.flatMap(({ lines, cells }, i) => {
    const text = isNamed ? texts[i] : grid[i]?.map((cell) => cell.text).join('; ')
    const isLine = cells.length === 1 || (!isNamed && lines.length === 1 && cells.length === names.length)
    return isLine ? lines : lines.slice(0, 1).map((line) => ({ ...line, text: text ?? line.text }))
  })
  const lines = isWhole ? head.lines : head.lines.slice(0, 1).map((line) => ({ ...line, text: names.map(({ text }) => text).join('; ') }))
  return { read: all.length, shown: [...lines, ...shown].map((line) => ({ ...line, isRow: true })) }
}

/** A table whose lines stay as they are. Two lines may be text with wide gaps, and those of a listing show where its columns are. */
function inLines<Line extends PrintedLine>(lines: readonly Line[]) {
  return { read: lines.length, shown: lines.length < 3 ? lines : lines.map((line) => (line.isFixed ? line : { ...line, isRow: true })) }
}

/** Whether a row has a font that most rows below do not have, which is bold. */
function isBold(head: Row<PrintedLine>, rows: readonly Row<PrintedLine>[]): boolean {
  const [font, other] = new Set(head.lines.map((line) => line.font))
  const same = rows.map(({ lines }) => lines.some((line) => line.font === font))
  return font !== undefined && other === undefined && same[0] !== true && 2 * same.filter(Boolean).length < rows.length - 1
}

/** Names that are repeated in each group of columns, with those of the groups. */
function inGroups(names: readonly Cell[], above: readonly Cell[]): readonly Cell[] {
  const inside = names.filter(({ text }) => text !== '')
  const groups = above.filter(({ right }) => right > (inside[0]?.left ?? 0))
  const each = inside.length / groups.length
  const areRepeated =
    Number.isInteger(each) && each > 1 && groups.length > 1 && inside.every(({ text }, i) => text === inside[i % each]?.text)
  return areRepeated
    ? names.map((cell) => ({ ...cell, text: inline(`${groups[Math.floor(inside.indexOf(cell) / each)]?.text ?? ''} ${cell.text}`) }))
    : names
}

/** Whether a line is above the names of another table. */
function isNext(cells: readonly Cell[], below: Row<unknown> | undefined): boolean {
  const [, ...names] = below?.cells ?? []
  return cells.length === 1 && names.length > 0 && names.every(({ text }) => !/\d/.test(text) || YEAR.test(text))
}

export type Extent = Pick<Cell, 'left' | 'right'>

export function areApart(extents: readonly Extent[]): boolean {
  return extents.every(({ left }, i) => left > (extents[i - 1]?.right ?? -Infinity))
}

export function overlap(a: Extent, b: Extent): boolean {
  return a.left < b.right && a.right > b.left
}

function joined(a: Extent, b: Extent): Extent {
  return { left: Math.min(a.left, b.left), right: Math.max(a.right, b.right) }
}

/** The column of each cell, from left to right; undefined if one is in none or in several. */
export function placesIn(columns: readonly Extent[], cells: readonly Extent[]): readonly number[] | undefined {
  const places = cells.map((cell) => columns.flatMap((column, i) => (overlap(column, cell) ? [i] : [])))
  const isEach = places.every(([place = -1, second], i) => place > (places[i - 1]?.[0] ?? -1) && second === undefined)
  return isEach && places.length > 0 ? places.flat() : undefined
}
