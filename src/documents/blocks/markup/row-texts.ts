import { at } from '../../../../base/at.ts'

const LONGEST_NAME = 60
/** A number, a date or an amount, with a short unit. */
const NUMBER = /^[^\p{L}]*\d[^\p{L}]*(?:\p{L}{1,3}(?:\/\p{L}{1,3}[\d\u00b2\u00b3]?|\.)?)?$/u
/** What stands for a number that there is not. */
const NO_NUMBER = /^(?:[-|\u2010-\u2015\u2212./]+|n\.?\/?\s?a\.?)$/i

/** A year, or a date, which may name a column of numbers. */
const PERIOD = /^(?:(?:19|20)\d\d(?:[A-Z]|(?:[-/]\d\d){0,2})|\d{1,2}\.\d{1,2}\.(?:19|20)\d\d)$/

/** A cell of a table. A spanning cell is repeated in all columns and rows that it covers. */
export interface GridCell {
  readonly text: string
  /** Marked as a name of its column or row. */
  readonly isHead?: boolean
  /** Continues the cell on its left. */
  readonly isRepeat?: boolean
  readonly isBold?: boolean
}

export interface GridRow {
  readonly cells: readonly GridCell[]
  /** Marked as a row of column names. */
  readonly isHead: boolean
}

/**
 * Rows of a table as texts: "column: value; column: value" below column names (several rows of names are joined: "Sales 2024"),
 * "name: value" after row names and in two columns, else the values alone. A first row that is not marked is taken as names only if it
 * differs from the rows below: in bold type, or above numbers. A row below names of groups has names too.
 * The first row below names has those of columns without values too.
 * @param kind a spreadsheet, in which blank rows end a table; or a page, which shows its names above the rows
 */
export function rowTexts(grid: readonly GridRow[], kind?: 'sheet' | 'page'): string[] {
  if (kind !== 'sheet') return tableTexts(grid, { isPage: kind === 'page' })
  const parts = sheetParts(grid)
  const first = parts.findIndex((part) => part.length > 1 && part.some(({ cells }) => cells.length > 2))
  return parts.flatMap((part, i) => tableTexts(part, { isSheet: true, isFirst: i === first }))
}

/** @param kind.isFirst the first table of a sheet, which begins with names; further ones may continue it */
function tableTexts(grid: readonly GridRow[], { isSheet = false, isFirst = false, isPage = false }): string[] {
  const width = grid.reduce((most, { cells }) => Math.max(most, cells.length), 0)
  const lastValues = grid.findLastIndex((row) => !isNames(row) && !isTitle(row, width) && !isEmpty(row))
  const first = grid.findIndex(({ cells }) => cells.filter(({ text, isRepeat }) => text !== '' && isRepeat !== true).length > 1)
  const areUnmarked = (count: number) => looksLikeNames(grid.slice(first, first + count), grid.slice(first + count), isSheet, isFirst)
  const unmarked = first < 0 ? 0 : ([3, 2, 1].find(areUnmarked) ?? 0)
  const used = Array.from({ length: width }, (_, i) => grid.some(({ cells }) => cells[i]?.text && cells[i].isRepeat !== true))
  const named = grid.filter(({ cells }) => cells[0]?.text)
  const areNumbers = used.map((_, i) => 2 * named.filter(({ cells }) => isNumber(cells[i]?.text)).length > named.length)
  const rows: NamedRow[] = []
  let heads: GridRow[] = []
  let names: readonly string[] = []
  for (const [i, row] of grid.entries()) {
    // The name of the rows' names may be below the other names.
    const isCorner = row.isHead && heads.length > 0 && heads.every(({ cells }) => cells[0]?.text === '')
    if (isTitle(row, width) && !isCorner) rows.push(unnamed(row.cells[0]?.text ?? ''))
    else if (i < lastValues && (isNames(row) || (i >= first && i < first + unmarked))) heads.push(row)
    else if (i < lastValues && heads.length > 0 && continuesNames([...heads, row], grid.slice(i + 1))) heads.push(row)
    else {
      if (heads.length > 0) names = namesOf(heads, width)
      heads = []
      const isNamed = names.some((name) => name !== '')
      rows.push(isNamed ? { names, parts: namedParts(row, names, areNumbers) } : unnamed(plainRow(row, width, used)))
    }
  }
  const shown = ({ name, text }: Part): string => (name === '' ? text : `${name}: ${text}`.trimEnd())
  return (isPage ? rows : withAllNames(rows)).map(({ parts }) => parts.map(shown).join('; ')).filter((line) => line !== '')
}

/** A value of a row. */
interface Part {
  readonly column: number
  /** Empty without one. */
  readonly name: string
  readonly text: string
}

interface NamedRow {
  /** Of all columns. */
  readonly names: readonly string[]
  readonly parts: readonly Part[]
}

function unnamed(text: string): NamedRow {
  return { names: [], parts: [{ column: 0, name: '', text }] }
}

/** Rows of which the first one below names has those of columns without values too: "Owner:". */
function withAllNames(rows: readonly NamedRow[]): NamedRow[] {
  const said = new Set(rows.flatMap(({ parts }) => parts.map(({ name }) => name)))
  const filled = new Set(rows.flatMap(({ names, parts }) => (parts.length > 0 ? [names] : [])))
  return rows.map((row) => {
    const { names, parts } = row
    if (parts.length === 0 && filled.has(names)) return row
    const unsaid = names.flatMap((name, column) => (name === '' || said.has(name) ? [] : [{ column, name, text: '' }]))
    if (unsaid.length === 0) return row
    for (const { name } of unsaid) said.add(name)
    return { names, parts: [...parts, ...unsaid].sort((a, b) => a.column - b.column) }
  })
}

/** The tables of a sheet, which empty rows and columns separate, without the empty columns around each. */
function sheetParts(grid: readonly GridRow[]): GridRow[][] {
  const parts: GridRow[][] = [[]]
  for (const row of grid)
    if (isEmpty(row)) parts.push([])
    else parts.at(-1)?.push(row)
  return parts.flatMap(tablesIn).flatMap(withoutPairs)
}

/** A table, and apart from it rows of two cells at its end that belong to another one: texts below numbers, or numbers below texts. */
function withoutPairs(part: GridRow[]): GridRow[][] {
  const isPair = ({ cells: [first, second, ...others] }: GridRow): boolean =>
    Boolean(first?.text && second?.text) && second?.isRepeat !== true && others.every(({ text }) => text === '')
  const end = part.findLastIndex((row) => !isPair(row)) + 1
  const [table, pairs] = [part.slice(0, end), part.slice(end).map((row) => ({ ...row, cells: row.cells.slice(0, 2) }))]
  const values = table.slice(1).map(({ cells }) => cells[1]?.text)
  const isOther = (text = ''): boolean => !NO_NUMBER.test(text) && values.every((value) => value && isNumber(value) !== isNumber(text))
  return pairs.length > 1 && table.length > 2 && !table.some(isPair) && pairs.some(({ cells }) => isOther(cells[1]?.text))
    ? [table, pairs]
    : [part]
}

/** The tables next to each other in rows. The right one has names of rows, and other rows than the left one. */
function tablesIn(part: readonly GridRow[]): GridRow[][] {
  const width = part.reduce((most, { cells }) => Math.max(most, cells.length), 0)
  const used = Array.from({ length: width }, (_, i) => part.some(({ cells }) => (cells[i]?.text ?? '') !== ''))
  const first = used.indexOf(true)
  // The last cells of a row are not stored where they are empty.
  const columnsOf = (from: number, to: number): GridRow[] =>
    part.map((row) => ({ ...row, cells: Array.from({ length: to - from }, (_, i) => row.cells[from + i] ?? { text: '' }) }))
  const begin = used.findIndex((is, i) => is && i > first && used[i - 1] === false && isSeparate(part, i))
  if (begin < 0) return [columnsOf(first, used.lastIndexOf(true) + 1)]
  return [columnsOf(first, begin), columnsOf(begin, width)].flatMap((rows) => tablesIn(rows.filter((row) => !isEmpty(row))))
}

/** Whether a column of a sheet begins another table. Most columns fail by their own texts. */
function isSeparate(part: readonly GridRow[], begin: number): boolean {
  const names = part.flatMap(({ cells }) => cells[begin]?.text || [])
  if (names.length < 2 || !names.every(isName) || new Set(names).size < names.length) return false
  const isFilled = (row: GridRow, from: number, to?: number): boolean => row.cells.slice(from, to).some(({ text }) => text !== '')
  const filled = part.map((row) => isFilled(row, begin))
  const isWhole = filled.lastIndexOf(true) - filled.indexOf(true) + 1 === names.length && filled.filter(Boolean).length === names.length
  return isWhole && part.some((row) => isFilled(row, begin + 1)) && part.some((row, i) => isFilled(row, 0, begin) !== filled[i])
}

function isEmpty({ cells }: GridRow): boolean {
  return cells.every(({ text }) => text === '')
}

/** One cell across the table, or the only name in a row of names: a title of what follows. */
function isTitle({ cells, isHead }: GridRow, width: number): boolean {
  return (
    width > 1 && cells.length === width && cells.every(({ text, isRepeat }, i) => i === 0 || isRepeat === true || (isHead && text === ''))
  )
}

function isNames({ cells, isHead }: GridRow): boolean {
  // The corner above row names may be empty.
  return isHead || (cells.at(-1)?.isHead === true && cells.every((cell, i) => cell.isHead === true || (i === 0 && cell.text === '')))
}

/** @param heads one row, or several of which each names groups of the next */
function looksLikeNames(heads: readonly GridRow[], rest: readonly GridRow[], isSheet: boolean, isFirst: boolean): boolean {
  const groups = heads.slice(1).map((below, i) => groupsOf(heads[i], below))
  if (heads.length === 0 || groups.includes(undefined)) return false
  const texts = namesOf(heads, heads[0]?.cells.length ?? 0)
  const isCorner = (kind: string): boolean => groups.some((one) => one?.corner === kind)
  const isPeriod = texts.map((text) => PERIOD.test(text))
  const areNames =
    texts.length > 1 &&
    texts.every((text, i) => text === '' || texts.indexOf(text) === i) &&
    // The corner above the names of rows may be empty, and a column between others.
    texts.every((text, i) =>
      text === ''
        ? i === 0 || !rest.some(({ cells }) => cells[i]?.text)
        : text.length <= LONGEST_NAME && heads.some(({ cells }) => isName(cells[i]?.text)),
    ) &&
    isPeriod[0] !== true &&
    isPeriod.every((is, i) => !is || rest.some(({ cells }) => cells[i]?.text && !PERIOD.test(cells[i].text)))
  if (!areNames || rest.some((row) => row.cells.length > texts.length)) return false
  // Sheets of more than two columns begin with names, which are no values below them.
  const isValue = (text: string, i: number): boolean => rest.some(({ cells }) => cells[i]?.text === text && !isSame(cells, texts))
  if (isFirst && texts.length > 2 && !isCorner('empty') && !isCorner('other') && !texts.some(isValue)) return true
  const isBold = (row: GridRow): boolean => row.cells.every((cell) => cell.isBold === true || cell.text === '')
  if (heads.every(isBold) && !rest.some(isBold)) return true
  if (isCorner('other')) return false
  // In two columns, numbers in the second may be the values of a form.
  return texts.slice(0, texts.length === 2 ? 1 : undefined).some((_, i) => {
    const below = rest.flatMap((row) => (isTitle(row, texts.length) ? [] : row.cells[i]?.text || []))
    const numbers = below.filter((text) => NUMBER.test(text))
    return numbers.length > 0 && below.every(isNumber)
  })
}

/** Whether a text is a number, or stands for one. */
export function isNumber(text = ''): boolean {
  return NUMBER.test(text) || NO_NUMBER.test(text)
}

function isName(text = ''): boolean {
  return text !== '' && (!NUMBER.test(text) || PERIOD.test(text))
}

/** Whether the last row has names in groups of the one before, which is marked as names. */
function continuesNames(heads: readonly GridRow[], rest: readonly GridRow[]): boolean {
  const [top, below] = heads.slice(-2)
  return groupsOf(top, below)?.corner === 'same' || (heads.length > 1 && looksLikeNames(heads, rest, false, false))
}

/**
 * The names of groups for each column, if the next row has the names in the groups, which are merged cells or have empty ones after them; and
 * whether the first column has one name, one below an empty cell, which may be a value, or one in a group.
 */
function groupsOf(top: GridRow | undefined, below: GridRow | undefined) {
  const isMerged = top?.cells.some(({ isRepeat }) => isRepeat === true)
  let [group, isGrouped] = ['', false]
  const names = top?.cells.map(({ text, isRepeat = false }, i) => {
    const own = below?.cells[i]?.text ?? ''
    if (text !== '' && !isRepeat) group = own === '' || own === text ? '' : text
    const isPart = group !== '' && own !== '' && (isMerged ? isRepeat : text === '')
    isGrouped ||= isPart
    return isPart ? group : text
  })
  const areNames = below?.cells.every(({ text }) => text === '' || (text.length <= LONGEST_NAME && isName(text)))
  if (names === undefined || !isGrouped || areNames !== true) return undefined
  const first = below?.cells[0]?.text ?? ''
  return { names, corner: first === '' || first === names[0] ? 'same' : names[0] === '' ? 'empty' : 'other' }
}

function isSame(cells: readonly GridCell[], names: readonly string[]): boolean {
  return cells.every(({ text }, i) => text === names[i])
}

function namesOf(heads: readonly GridRow[], width: number): string[] {
  const rows = heads.map((row, i) => groupsOf(row, heads[i + 1])?.names ?? row.cells.map(({ text }) => text))
  return Array.from({ length: width }, (_, i) => [...new Set(rows.flatMap((names) => names[i]?.replace(/\s*:$/, '') || []))].join(' '))
}

/** @param areNumbers columns of numbers: a text that begins a row in one is the label of a sum */
function namedParts({ cells }: GridRow, names: readonly string[], areNumbers: readonly boolean[]): Part[] {
  // Names that are printed again on a further page.
  if (isSame(cells, names)) return []
  // The label of a sum below several columns is none of their values.
  const label = cells[1]?.isRepeat === true && names[0] !== names[1] ? cells.findIndex(({ isRepeat }, i) => i > 0 && isRepeat !== true) : 0
  const isOnce = ({ text, isRepeat }: GridCell, i: number): boolean =>
    text !== '' && (i < label ? i === 0 : isRepeat !== true || (names[i] !== '' && names[i] !== names[i - 1]))
  const [sum = 0, ...texts] = cells.flatMap(({ text }, i) => (text === '' || isNumber(text) ? [] : [i]))
  const isSum = areNumbers[sum] === true && texts.length === 0 && cells.findIndex(({ text }) => text !== '') === sum
  const isNamed = (i: number): boolean => i >= label && !(isSum && i === sum && i > 0)
  return cells.flatMap((cell, i) => (isOnce(cell, i) ? [{ column: i, name: isNamed(i) ? at(names, i) : '', text: cell.text }] : []))
}

/** A row without column names: each name in it begins a part. Empty cells between others keep their places, but in forms. @param used columns with text */
function plainRow({ cells }: GridRow, width: number, used: readonly boolean[]): string {
  const isName = ({ text, isHead }: GridCell, i: number): boolean =>
    (isHead === true || text.endsWith(':') || (width === 2 && i === 0 && !/[.!?;]$/.test(text))) && text.length <= LONGEST_NAME
  const isForm = used.filter(Boolean).length < 3 || cells.some(({ text }) => text.endsWith(':'))
  let [line, gaps] = ['', '']
  let afterName = false
  let isNamed = false
  for (const [i, cell] of cells.entries()) {
    if (cell.text === '' || cell.isRepeat === true) {
      if (used[i] && !isForm) gaps += '; '
      continue
    }
    const separator = afterName ? ': ' : isNamed && !isName(cell, i) ? ', ' : '; '
    afterName = isName(cell, i)
    isNamed ||= afterName
    line += (line === '' ? '' : separator) + gaps + (afterName ? cell.text.replace(/\s*:$/, '') : cell.text)
    gaps = ''
  }
  return line
}
