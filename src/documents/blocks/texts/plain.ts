import { parse } from 'csv-parse/sync'
import { at } from '../../../../base/at.ts'
import { attempt } from '../../../../base/errors.ts'
import { inline, joinedLines, type Block } from '../contract.ts'
import { rowTexts } from '../markup/row-texts.ts'
import { withColumnNames, type Cell, type PrintedLine } from '../markup/printed-tables.ts'

/** Marks of items, also as fonts of symbols have them. */
export const BULLETS = '\u2022\u2023\u25a0\u25aa\u25ab\u25cb\u25cf\u25e6\uf0a7\uf0b7\uf0d8'
/** Those, and check boxes and arrows. */
export const MARKS = `${BULLETS}\u25a1\u2610-\u2612\u2705\u2713-\u2718\u274c\u274f-\u2752\u27a2`
/** The number of a clause in a contract: "2.1". */
const CLAUSE = String.raw`\d{1,2}(?:\.\d{1,2}){1,3}\.?(?=\s+\p{Lu}\p{Ll})`
const BULLET = new RegExp(
  `^(?:\\s{0,3}${CLAUSE}|\\s{0,8}(?:[-*+\u2013${MARKS}]|\\(?\\d{1,3}[.)]|\\(?(?:[a-z]|[ivx]{2,5})\\)|(?<=\\s{2})(?:[a-h]|[ivx]{1,4})\\.))\\s+\\S`,
  'u',
)
const MARK = new RegExp(`^[-*+\u2013${BULLETS}]\\s+`)
const UNDERLINE = /^(={3,}|-{3,}|~{3,}|\*{3,})\s*$/
/** Lines of a table drawn with bars, and the rules in it. */
const [BOX, BOX_RULE] = [/^\s*[|+].*[|+]\s*$/, /^\s*[|+][-=+|]+[|+]\s*$/]
/** Rules of a table of one line a row: around it, and below its names. */
const BOX_RULES = 3
const RULE = /^[\s*=_~#-]{3,}$/
const CODE = /^(?: {4}|\t)/
/** A session of Python, which may have quoted lines of e-mail too. */
const SESSION = /^\s*>>> (?:.*[=([]|import |from |[\w.]+$)/
/** A line between signs that draw boxes. */
const DRAWN = /^\s*[\u2500-\u257f].*[\u2500-\u257f]$/
/** A row of a table without bars. */
const CELLS = /\S(?:\t+| {3,}| ?\.{4,} ?)\S/
/** What may be a further line of a cell. */
const WRAPPED = /^\s{2,}\S/
/** The date and time that a message of a chat, or an entry of a log, begins with. */
const STAMPED = /^\u200e?(?:\[?\d{1,4}[-./]\d{1,2}[-./]\d{1,4}(?:, ?|T| )\d{1,2}[:.]\d{2}|\[\d{1,2}(?::\d{2}){1,2}\] )/
/** One of a person, which is no date in a sentence. */
const MESSAGE = new RegExp(`${STAMPED.source}.{0,12}(?: - |\\] )[^:\\s][^:]{0,40}: `)
const TAB = 8
/** Columns by which a further line of a cell is indented, at most. */
const HANGING = 4
/** Marks of code, addresses and fields in a line, which is then no heading. */
const NO_HEADING = /[<>{}=;@|]|:\/\/|^[\w-]+: \S|[.!?:,\u3002]$/
const LONGEST_HEADING = 80
const HEADING_WORDS = 12
const DEPTH_OF_OTHERS = 2

/**
 * Parses plain text: paragraphs are separated by blank lines and may be wrapped. A short line on its own, without a full stop and followed
 * by text, is a heading; underlining or numbering ("2.1 Terms") sets its level. Runs of lines indented by four
 * characters are code.
 * @param findsHeadings false for texts that mark their headings
 */
export function plainBlocks(text: string, findsHeadings = true): Block[] {
  const groups = groupsOf(text)
  const blocks: Block[] = []
  let list: string[] = []
  /** Where the text of its last item begins. */
  let column = Infinity
  const endList = (): void => {
    if (list.length > 0) blocks.push({ kind: 'list', items: itemsOf(list) })
    list = []
  }
  for (const [i, lines] of groups.entries()) {
    const found = blocksOf(lines, i === 0, findsHeadings && i < groups.length - 1)
    // A further paragraph of an item may have items after it.
    const isInside = list.length > 0 && lines.every((line, k) => indentOf(line) >= column || (k > 0 && BULLET.test(line)))
    if (isInside && found.every(({ kind }) => kind === 'paragraph')) for (const line of lines) list.push(line)
    else {
      endList()
      if (found[0]?.kind === 'list') list = [...lines]
      else blocks.push(...found)
    }
    column = columnOf(lines) ?? column
  }
  endList()
  return joined(blocks)
}

/** The lines between blank ones. */
function groupsOf(text: string): string[][] {
  const lines = text.split(/\r\n?|[\n\f]/).map((line) => withBars(line.trimEnd()))
  const groups = lines.join('\n').split(/\n{2,}/)
  return groups.map((group) => group.split('\n').filter((line) => line !== '')).filter((group) => group.length > 0)
}

/** A line of a table that is drawn with other signs. */
function withBars(line: string): string {
  if (!DRAWN.test(line)) return line
  return line
    .replace(/[\u2502\u2503\u2551]/g, '|')
    .replace(/[\u2550\u2500\u2501]/g, '-')
    .replace(/[\u2500-\u257f]/g, '+')
}

/** @param isFirst of the text @param canHead one line may be a heading, for text follows */
function blocksOf(lines: readonly string[], isFirst: boolean, canHead: boolean): Block[] {
  const [first = '', second = '', ...rest] = lines
  const underline = UNDERLINE.exec(second)?.[1]
  if (underline !== undefined && first.trim().length <= LONGEST_HEADING && !RULE.test(first) && !CELLS.test(first)) {
    const heading: Block = { kind: 'heading', level: underline.startsWith('=') ? 1 : DEPTH_OF_OTHERS, text: inline(first) }
    return rest.length === 0 ? [heading] : [heading, ...blocksOf(rest, false, canHead)]
  }
  if (lines.every((line) => RULE.test(line))) return []
  if (canHead && lines.length === 1 && isHeading(first))
    return [{ kind: 'heading', level: isFirst ? 1 : levelOf(first), text: inline(first) }]
  if (lines.length > 2 && lines.every((line) => BOX.test(line))) return [{ kind: 'table', rows: boxRows(lines) }]
  if (BULLET.test(first)) return [{ kind: 'list', items: itemsOf(lines) }]
  if (SESSION.test(first) || lines.every((line) => CODE.test(line))) return [{ kind: 'code', text: lines.join('\n') }]
  const rows = lines.filter((line) => !RULE.test(line))
  const whole = rows.filter((line) => CELLS.test(line))
  if (whole.length > 1 && CELLS.test(at(rows, 0)) && rows.every((line) => CELLS.test(line) || (WRAPPED.test(line) && !BULLET.test(line))))
    return [{ kind: 'table', rows: alignedRows(rows) }]
  // A table directly below its title.
  if (lines.length > 2 && !CELLS.test(first) && lines.slice(1).every((line) => CELLS.test(line)))
    return [{ kind: 'paragraph', text: inline(first) }, ...blocksOf(lines.slice(1), false, canHead)]
  const stamped = lines.flatMap((line, i) => (STAMPED.test(line) ? [i] : []))
  const [entry = 0] = stamped
  // A message before them may have blank lines in it.
  if ((stamped.length > 1 && entry === 0) || stamped.some((i) => i > 0 && MESSAGE.test(at(lines, i))))
    return [
      ...(entry === 0 ? [] : blocksOf(lines.slice(0, entry), false, false)),
      { kind: 'table', rows: stamped.map((from, i) => joinedLines(lines.slice(from, stamped[i + 1]))) },
    ]
  const list = lines.findIndex((line) => BULLET.test(line))
  // A list directly below its lead-in.
  if (list > 0 && /:\s*$/.test(at(lines, list - 1)))
    return [
      { kind: 'paragraph', text: joinedLines(lines.slice(0, list)) },
      { kind: 'list', items: itemsOf(lines.slice(list)) },
    ]
  return [{ kind: 'paragraph', text: joinedLines(lines) }]
}

/** Rows of a table whose columns are aligned by spaces or tabs; names with one tab between each two are above cells of any length. */
function alignedRows(lines: readonly string[]): string[] {
  const isTabbed = /^[^\t]+(?:\t[^\t]+)+$/.test(at(lines, 0))
  const printed = lines.map((text, i) => {
    let place = 0
    const cells = text.split(isTabbed ? '\t' : /(\t| {2,})/).flatMap((part) => {
      const left = place
      place = isTabbed ? place + 1 : part === '\t' ? TAB * (Math.floor(place / TAB) + 1) : place + part.length
      return part.trim() === '' ? [] : [{ text: part, left, right: isTabbed ? left + 0.5 : place }]
    })
    return { text, height: 1, base: -i, cells }
  })
  const rows: AlignedRow[] = []
  for (const line of printed) {
    const whole = continued(rows.at(-1), line)
    rows.splice(whole === undefined ? rows.length : -1, 1, whole ?? line)
  }
  return withColumnNames(rows).map(({ text }) => inline(text))
}

type AlignedRow = PrintedLine & { readonly cells: readonly Cell[] }

/** A row with a further line of one of its cells, or of a text that is in no column; undefined if the line is below none. */
function continued(row: AlignedRow | undefined, { cells: [only, second] }: AlignedRow): AlignedRow | undefined {
  if (row === undefined || only === undefined || second !== undefined) return undefined
  const isAbove = ({ left }: Cell, i: number): boolean =>
    (i > 0 || (left >= TAB && row.cells.length === 1)) && only.left >= left && only.left < left + HANGING
  const cells = row.cells.map((cell, i) => (isAbove(cell, i) ? { ...cell, text: joinedLines([cell.text, only.text]) } : cell))
  return row.cells.some(isAbove) ? { ...row, cells, text: cells.map(({ text }) => text).join(' ') } : undefined
}

/** Rows of a table that is drawn with bars. @param given.isWrapped lines between two rules are one row. Default: with rules after each row */
export function boxRows(lines: readonly string[], given: { readonly isWrapped?: boolean; readonly isHeaded?: boolean } = {}): string[] {
  const grid: string[][] = []
  const marks = Array.from((lines.find((line) => BOX_RULE.test(line)) ?? '').matchAll(/[+|]/g), ({ index }) => index)
  const { isWrapped = lines.filter((line) => BOX_RULE.test(line)).length > BOX_RULES } = given
  for (const [i, line] of lines.entries()) {
    if (BOX_RULE.test(line)) continue
    const isNew = !isWrapped || i === 0 || BOX_RULE.test(at(lines, i - 1))
    const before = isNew ? [] : (grid.pop() ?? [])
    // A cell may hold a bar: columns are where the rules have them.
    const isAligned = marks.length > 1 && marks.every((mark) => line.charAt(mark) === '|')
    const cells = isAligned
      ? marks.slice(1).map((mark, column) => line.slice(at(marks, column) + 1, mark))
      : line.replace(/^\s*\||\|\s*$/g, '').split('|')
    grid.push(cells.map((cell, column) => inline(`${before.at(column) ?? ''} ${cell}`)))
  }
  const { isHeaded = isWrapped || lines.slice(1, 3).some((line) => BOX_RULE.test(line)) } = given
  return rowTexts(grid.map((cells, i) => ({ cells: cells.map((text) => ({ text })), isHead: i === 0 && isHeaded && grid.length > 1 })))
}

/** Rows of a table whose cells are separated by a sign, and may be quoted; lines as they are if they are none. @param heads rows of names */
export function separatedRows(lines: readonly string[], delimiter: string, heads: number): string[] {
  const options = { delimiter, ltrim: true, relax_column_count: true, relax_quotes: true, skip_empty_lines: true }
  const rows = attempt(
    (): readonly string[][] => parse(lines.join('\n'), options),
    lines.map((line) => [line]),
  )
  return rowTexts(rows.map((cells, i) => ({ cells: cells.map((text) => ({ text: inline(text) })), isHead: i < heads })))
}

function isHeading(line: string): boolean {
  const text = line.trim()
  const isNumbered = /^\d+(?:\.\d+)*\.?\s+\p{Lu}/u.test(text)
  return (
    !/^\s{4}/.test(line) &&
    (isNumbered || !BULLET.test(line)) &&
    text.length <= LONGEST_HEADING &&
    text.split(/\s+/).length <= HEADING_WORDS &&
    /^[\p{Lu}\p{Lo}\d]/u.test(text) &&
    !NO_HEADING.test(text)
  )
}

function levelOf(line: string): number {
  const depth = /^\s*(\d+(?:\.\d+)*)\.?\s/.exec(line)?.[1]?.split('.').length
  return depth === undefined ? DEPTH_OF_OTHERS : Math.min(6, depth + 1)
}

function itemsOf(lines: readonly string[]): string[] {
  const items: [string, ...string[]][] = []
  for (const line of lines) {
    if (BULLET.test(line) || items.length === 0) items.push([line])
    else items.at(-1)?.push(line)
  }
  return items.map(([first, ...rest]) => ' '.repeat(indentOf(first)) + joinedLines([marked(first), ...rest]))
}

/** An item with the bullet common to all file types; numbers stay, for the text may refer to them. */
export function marked(line: string): string {
  return inline(line).replace(MARK, '- ')
}

/** Where the text of the last item of lines begins; undefined without one. */
function columnOf(lines: readonly string[]): number | undefined {
  const item = lines.findLast((line) => BULLET.test(line))
  return item === undefined ? undefined : /^\s*\S+\s+/.exec(item)?.[0].length
}

/** Columns before a line's text. */
function indentOf(line: string): number {
  return line.replaceAll('\t', '    ').search(/\S/)
}

/** Items with their indentation by level: lists in others stand two columns to the right at least. */
function nestedItems(items: readonly string[]): string[] {
  let open: number[] = []
  return items.map((item) => {
    const indent = indentOf(item)
    open = open.filter((one, i) => i === 0 || one <= indent)
    if (indent >= (open.at(-1) ?? -2) + 2) open.push(indent)
    return '  '.repeat(open.length - 1) + item.trimStart()
  })
}

/** Joins parts of one listing, which may have blank lines in it, and of one list. */
function joined(blocks: readonly Block[]): Block[] {
  const runs: Block[][] = []
  for (const block of blocks) {
    const run = runs.at(-1)
    if (run?.[0]?.kind === block.kind) run.push(block)
    else runs.push([block])
  }
  return runs.flatMap((run): Block[] => {
    const items = run.flatMap((block) => (block.kind === 'list' ? block.items : []))
    if (items.length > 0) return [{ kind: 'list', items: nestedItems(items) }]
    const lines = run.flatMap((block) => (block.kind === 'code' ? [...block.text.split('\n'), ''] : [])).slice(0, -1)
    if (lines.length === 0) return run
    const common = lines.reduce((least, line) => (line === '' ? least : Math.min(least, line.search(/\S/))), Infinity)
    return [{ kind: 'code', text: lines.map((line) => line.slice(common)).join('\n') }]
  })
}
