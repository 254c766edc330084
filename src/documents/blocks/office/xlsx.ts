import { counted } from '../../../../base/at.ts'
import { Parser } from 'htmlparser2'
import { format, getFormatFromId, isDateFormat } from 'numfmt'
import { EXACT_DIGITS } from '../../../../base/json.ts'
import { inline, Unread, type Block, type BlockDocument } from '../contract.ts'
import { localName } from '../markup/math.ts'
import { rowTexts, type GridCell, type GridRow } from '../markup/row-texts.ts'
import { symbolsIn } from '../markup/symbols.ts'
import { raisedText, struck } from '../markup/text.ts'
import { elementsIn } from '../markup/tidy.ts'
import { childOf, childrenOf, elementsOf, parseXml, textIn } from '../markup/xml.ts'
import type { ZipDocument } from '../zip.ts'
import { isOn, openOffice, partText, relatedParts, shownDate, signed, unreadPart, valueOf } from './parts.ts'

/** Columns of a sheet that are read, and cells that a merged one covers. */
const MOST_COLUMNS = 1000
const MOST_MERGED = 100_000
const LETTERS = 26
/** A format that shows more than a text itself. */
const TEXT_FORMAT = /@.|.@/
/** A fraction in a format: signs for the digits of its denominator, or that number. */
const FRACTION = /[?#\d]\s*\/\s*([?#]+|\d+)/
/** Days from day 0 of dates to that of Excel's older version for Macintosh. */
export const MACINTOSH_DAYS = 1462

/** Headers and footers of printed pages, and the codes of fields and fonts in them. */
const EDGE = /^(?:odd|even|first)(?:Header|Footer)$/
const EDGE_CODES = /&(?:"[^"]*"|K[\dA-F]{6}|\d+|[A-Z])/gi

type Attributes = Readonly<Record<string, string>>

interface Workbook {
  readonly strings: readonly string[]
  /** Number formats and fonts by the style of a cell. */
  readonly styles: readonly { readonly pattern: string; readonly font: string; readonly isBold: boolean; readonly isStruck: boolean }[]
  /** Days to add to a date. */
  readonly days: number
}

/** A spreadsheet: rows of visible sheets, values as they are shown, dates as 2024-05-31. @throws document_invalid, payload_too_large */
export async function xlsxDocument(bytes: Uint8Array): Promise<BlockDocument> {
  const { zip, main, related, title } = await openOffice(bytes, 'xl/workbook.xml')
  const part = async (wanted: string): Promise<string> => {
    const found = related.find(({ type }) => type === wanted)
    return found === undefined ? '' : zip.read(found.part)
  }
  const strings: string[] = []
  const reading = richText((text) => strings.push(text))
  walk(await part('sharedStrings'), reading)
  const xml = await zip.read(main)
  const book: Workbook = {
    strings,
    styles: stylesOf(await part('styles')),
    days: elementsOf(xml, 'workbookPr').some(({ attribs }) => /^(?:1|true)$/.test(attribs.date1904 ?? '')) ? MACINTOSH_DAYS : 0,
  }
  const blocks: Block[] = []
  const warnings: string[] = []
  const unread = new Unread()
  for (const { attribs } of elementsOf(xml, 'sheet')) {
    const { name = '', state = 'visible' } = attribs
    const found = related.find(({ id }) => id === attribs.id)
    if (state !== 'visible') warnings.push(`The hidden sheet ${JSON.stringify(name.slice(0, 100))} was left out.`)
    else if (found?.type === 'worksheet') {
      const { rows, unknown } = readSheet(await zip.read(found.part), book, unread)
      await countUnread(zip, found.part, unread)
      if (unknown > 0)
        warnings.push(`Without stored values: ${counted(unknown, 'formula')} of the sheet ${JSON.stringify(name.slice(0, 100))}.`)
      const texts = rowTexts(rows, 'sheet')
      if (texts.length > 0) blocks.push({ kind: 'heading', level: 2, text: inline(name) }, { kind: 'table', rows: texts })
    } else warnings.push(`Not read: the ${found?.type ?? 'missing sheet'} ${JSON.stringify(name.slice(0, 100))}.`)
  }
  return { title, blocks, warnings: [...warnings, ...unread.warnings] }
}

/** Counts what a sheet shows besides its cells. */
async function countUnread(zip: ZipDocument, sheet: string, unread: Unread): Promise<void> {
  for (const { type, part } of await relatedParts(zip, sheet)) {
    unread.add(unreadPart(type), type === 'comments' ? elementsOf(await partText(zip, part), 'comment').length : 1)
    if (type !== 'drawing') continue
    const drawn = elementsIn(parseXml(await partText(zip, part)).children)
    unread.add('text boxes', drawn.filter((one) => one.name === 'txBody' && textIn([one]).trim() !== '').length)
    unread.add('descriptions of pictures', drawn.filter(({ name, attribs }) => name === 'cNvPr' && attribs.descr).length)
    for (const one of await relatedParts(zip, part)) unread.add(unreadPart(one.type))
  }
}

/** Calls back for each element of XML, without keeping the whole in memory. Names come without prefixes. */
function walk(xml: string, on: ReturnType<typeof richText>): void {
  const parser = new Parser(
    {
      onopentag: (name, attributes) => on.open(localName(name), attributes),
      ontext: (text) => on.text(text),
      onclosetag: (name) => on.close(localName(name)),
    },
    { xmlMode: true },
  )
  parser.end(xml)
}

/** The text of a string, without its phonetic letters. @param end called with each string of the workbook, or of a cell */
function richText(end: (text: string) => void) {
  let [text, run, script, font] = ['', '', '', '']
  let isText = false
  let phonetic = 0
  return {
    open: (name: string, { val = '1' }: Attributes) => {
      isText = name === 't' && phonetic === 0
      if (name === 'rPh') phonetic++
      if (name === 'vertAlign') script = val
      if (name === 'strike' && val === '1') script = name
      if (name === 'rFont') font = val
    },
    text: (part: string) => {
      if (isText) run += unescaped(part)
    },
    close: (name: string) => {
      isText = false
      if (name === 'rPh') phonetic--
      const isString = name === 'si' || name === 'is'
      if (name !== 'r' && !isString) return
      const shown = symbolsIn(run, font)
      if (script === 'strike') text += struck(shown, text)
      else text += script === 'superscript' ? raisedText(shown, text) : shown
      run = script = font = ''
      if (!isString) return
      end(inline(text))
      text = ''
    },
  }
}

/** A text without escapes of characters that XML does not allow. */
function unescaped(text: string): string {
  return text.replace(/_x([\dA-F]{4})_/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
}

function stylesOf(xml: string): Workbook['styles'] {
  const fonts = childrenOf(elementsOf(xml, 'fonts')[0], 'font')
  const own = new Map(elementsOf(xml, 'numFmt').map(({ attribs }) => [attribs.numFmtId ?? '', attribs.formatCode ?? 'General']))
  const [styles] = elementsOf(xml, 'cellXfs')
  return childrenOf(styles, 'xf').map(({ attribs: { numFmtId = '0', fontId = '0' } }) => ({
    pattern: own.get(numFmtId) ?? getFormatFromId(Number(numFmtId)) ?? 'General',
    font: valueOf(childOf(fonts[Number(fontId)], 'name')),
    isBold: isOn(childOf(fonts[Number(fontId)], 'b')),
    isStruck: isOn(childOf(fonts[Number(fontId)], 'strike')),
  }))
}

/** The rows of a sheet by their numbers, merged cells repeated. */
function readSheet(xml: string, book: Workbook, unread: Unread): { readonly rows: readonly GridRow[]; readonly unknown: number } {
  const rows = new Map<number, GridCell[]>()
  const merged: string[] = []
  let unknown = 0
  let row: GridCell[] = []
  let [number, value, edge, inside, hasFormula] = [0, '', '', '', false]
  let cell: Attributes = {}
  const rich = richText((text) => (value = text))
  walk(xml, {
    open: (name, attributes) => {
      rich.open(name, attributes)
      if (name === 'row') {
        number = Number(attributes.r ?? number + 1)
        rows.set(number, (row = []))
      } else if (name === 'c') [cell, value, hasFormula] = [attributes, '', false]
      else if (name === 'f') hasFormula = true
      else if (name === 'mergeCell') merged.push(attributes.ref ?? '')
      inside = name
    },
    text: (text) => {
      rich.text(text)
      if (inside === 'v') value += text
      if (EDGE.test(inside)) edge += text
    },
    close: (name) => {
      rich.close(name)
      inside = ''
      if (EDGE.test(name)) unread.addEdge(edge.replace(EDGE_CODES, ' '))
      edge = ''
      if (name !== 'c') return
      // The text of a formula may be empty.
      if (value === '' && hasFormula && cell.t !== 'str') unknown++
      const column = cell.r === undefined ? row.length : columnOf(cell.r)
      const { isBold, isStruck } = book.styles.at(Number(cell.s ?? 0)) ?? {}
      const plain = inline(shownValue(value, cell, book))
      const text = isStruck === true && !plain.includes('~~') ? inline(struck(plain, '')) : plain
      if (text === '' && value !== '' && (cell.t ?? 'n') === 'n') unread.add('values that their formats hide')
      if (text !== '' && column >= MOST_COLUMNS) unread.add(`cells beyond column ${MOST_COLUMNS}`)
      else if (text !== '') put(row, column, { text, isBold: isBold === true })
    },
  })
  spreadMerged(rows, merged, unread)
  return { rows: withGaps(rows), unknown }
}

function put(row: GridCell[], column: number, cell: GridCell): void {
  while (row.length < column) row.push({ text: '' })
  row[column] = cell
}

/** Column of an address: 0 for "A7". */
function columnOf(address: string): number {
  const letters = /^[A-Z]{1,3}/.exec(address)?.[0] ?? 'A'
  return [...letters].reduce((sum, letter) => sum * LETTERS + letter.charCodeAt(0) - 64, 0) - 1
}

/** Repeats the first cell of each merged range ("A1:C2") in all that it covers. */
function spreadMerged(rows: ReadonlyMap<number, GridCell[]>, ranges: readonly string[], unread: Unread): void {
  let left = MOST_MERGED
  for (const range of ranges) {
    const [from = '', to = from] = range.split(':')
    const [top, bottom] = [Number(/\d+/.exec(from)?.[0]), Number(/\d+/.exec(to)?.[0])]
    const cell = rows.get(top)?.[columnOf(from)]
    const last = Math.min(columnOf(to), MOST_COLUMNS - 1)
    if (cell === undefined) continue
    for (let number = top; number <= bottom && left > 0; number++) {
      const row = rows.get(number)
      left--
      if (row === undefined) continue
      for (let column = columnOf(from); column <= last && left-- > 0; column++) {
        if (row[column]?.text && row[column] !== cell) unread.add('cells under merged ones')
        put(row, column, column === columnOf(from) ? cell : { ...cell, isRepeat: true })
      }
    }
  }
}

/** Rows in their order; an empty one stands for those that are missing. */
function withGaps(rows: ReadonlyMap<number, readonly GridCell[]>): GridRow[] {
  const sorted = [...rows].sort(([a], [b]) => a - b)
  return sorted.flatMap(([number, cells], i) => [
    ...(i > 0 && sorted[i - 1]?.[0] !== number - 1 ? [{ cells: [], isHead: false }] : []),
    { cells, isHead: false },
  ])
}

function shownValue(value: string, { t: type = 'n', s: style = '0' }: Attributes, { strings, styles, days }: Workbook): string {
  if (value === '') return ''
  const { pattern = 'General', font } = styles.at(Number(style)) ?? {}
  const textual = (text: string): string =>
    symbolsIn(TEXT_FORMAT.test(pattern) ? format(pattern, text, { throws: false }) || text : text, font)
  if (type === 's') return textual(strings.at(Number(value)) ?? '')
  if (type === 'b') return value === '1' ? 'TRUE' : 'FALSE'
  const number = Number(value)
  if (type === 'd') return shownDate(value)
  if (type !== 'n' || !Number.isFinite(number)) return textual(type === 'inlineStr' ? value : unescaped(value))
  return shownNumber(number, pattern, days)
}

/** A number as a format shows it. @param days to add to a date */
export function shownNumber(number: number, pattern: string, days = 0): string {
  if (isDateFormat(pattern)) return dateText(number, pattern, days)
  const exact = Number.isSafeInteger(number) ? number : Number(number.toPrecision(EXACT_DIGITS))
  if (/^(?:general|@)$/i.test(pattern)) return String(exact)
  // The program shows a number by its own settings, not by those of a currency, and a longer one than the library's.
  const shown = pattern.replace(/\[\$([^\]-]*)-[^\]]*\]/g, (_, sign: string) => (sign === '' ? '' : `[$${sign}]`))
  const rounded = asFraction(exact, pattern)
  const code = Number.isInteger(exact) ? shown.replace(/general/gi, '0') : shown
  return signed(format(code, rounded, { throws: false, invalid: String(exact) }), exact)
}

/** The nearest number that a format of fractions shows, which the library does not always find; others as they are. */
function asFraction(number: number, pattern: string): number {
  const parts = pattern.replace(/"[^"]*"|\\.|\[[^\]]*\]/g, '').split(';')
  const [digits] = parts.flatMap((part) => FRACTION.exec(part)?.[1] ?? [])
  if (digits === undefined || parts.some((part) => /[?#\d]/.test(part) && !FRACTION.test(part))) return number
  const given = Number(digits) || 0
  const most = given || 10 ** Math.min(digits.length, 4) - 1
  let best = Infinity
  for (let below = given || 1; below <= most; below++) {
    const one = Math.round(number * below) / below
    if (Math.abs(one - number) < Math.abs(best - number)) best = one
  }
  return best
}

/** "2024-05-31", "2024-05-31 14:30" or "14:30". */
function dateText(serial: number, pattern: string, days: number): string {
  const clock = pattern.replace(/"[^"]*"|\\.|\[(?![hms])[^\]]*\]/gi, '')
  const hasTime = /[hs]/i.test(clock)
  const hasDate = /[yd]/i.test(pattern.replace(/"[^"]*"|\\.|\[[^\]]*\]/g, ''))
  if (hasTime && !hasDate && serial < 0) return `-${dateText(-serial, pattern, days)}`
  const day = hasTime && !hasDate ? serial : serial + days
  // Durations, and names of months.
  if (!hasDate && (serial >= 1 || !hasTime || /\[[hms]+\]/i.test(clock)))
    return format(pattern.replace(/m{5}/i, 'mmmm'), day, { throws: false })
  const [, fraction = ''] = /s(\.0+)/i.exec(pattern) ?? []
  const shown = [...(hasDate || !hasTime ? ['yyyy-mm-dd'] : []), ...(hasTime ? [`hh:mm:ss${fraction}`] : [])].join(' ')
  const text = format(shown, day, { throws: false })
  // "05:00" is no time of day in a format of minutes and seconds.
  return /h/i.test(clock) ? text.replace(/(:\d\d):00$/, '$1') : text
}
