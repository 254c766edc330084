import { getDocumentProxy } from 'unpdf'
import { at, counted } from '../../../base/at.ts'
import { reasonOf } from '../../../base/errors.ts'
import { DOCUMENT_LIMITS, OCR_LIMITS } from '../contract.ts'
import { DocumentError } from '../errors.ts'
import { inline, listed, titleText, Unread, type BlockDocument } from './contract.ts'
import { raisedText } from './markup/text.ts'
import type { Ocr } from './ocr/engine.ts'
import { BULLETS } from './texts/plain.ts'
import { addFields, type Annotation } from './pdf-fields.ts'
import type { PrintedLine } from './markup/printed-tables.ts'
import { rowsInPlace } from './pdf-rows.ts'
import { withFullStops } from './pdf-unicode.ts'
import { closedUp, inReadingOrder, leftOf, lettersIn, textsIn, unknownIn, WORD_GAP, type Item } from './pdf-letters.ts'

/** A line of a page; lengths in points. */
export interface Line extends PrintedLine {
  /** Its text; a tab stands for a gap wider than letters are high. */
  readonly text: string
  readonly page: number
  /** Distance of its first letter and its end from the page's left edge. */
  readonly left: number
  readonly right: number
  /** Where its last column begins. */
  readonly column?: number
  /** Its text is that of several lines of code. */
  readonly isListing?: boolean
}

export type PdfPages = Required<Pick<BlockDocument, 'title' | 'warnings'>> & { readonly pages: readonly (readonly Line[])[] }

/** Gaps between letters, in heights of the line: one that separates columns, one that may separate cells. */
const [COLUMN_GAP, CELL_GAP] = [1.5, 0.45]
/** Scripts are lower than the line's letters and begin above or below their base, in heights; some letters of any height further from it. */
const RAISED = { height: 0.85, rise: 0.15, ofAny: 0.25, letters: 3 }
/** A mark of a list that is printed apart from its item, and their distance at most, in heights. */
const MARK = { text: new RegExp(`^(?:[${BULLETS}]|(?:\\d{1,3}|[a-z]|[ivx]{1,6})[.)])$`, 'i'), gap: 3 }
/** Letters of a watermark are printed at an angle, and so much larger than the page's own. */
const WATERMARK = { slant: 0.2, height: 1.5 }
/** A large initial next to several lines, and its least height in theirs. */
const INITIAL = { text: /^["\u201c\u201e\u00ab]?\p{Lu}$/u, ratio: 1.8 }
/** An item is printed again (bold type, shadows) within this distance, in heights. */
const OVERPRINT = 0.1
const MOST_COMPARED = 20
/** Lines that are printed first or last and may be a page's heads and feet. */
const EDGE_LINES = 3
const LONGEST_TITLE = 200
/** What a library writes without a title. */
const NO_TITLE = /^\(?(?:anonymous|unspecified|untitled)\)?$/i

/** @throws document_invalid (broken, encrypted), document_without_text (scanned), payload_too_large */
export async function readPdfPages(bytes: Uint8Array, ocr?: Ocr): Promise<PdfPages> {
  const { encodings, BinaryDataFactory } = missingFiles()
  const document = await getDocumentProxy(withFullStops(bytes), {
    BinaryDataFactory,
    isEvalSupported: false,
    stopAtErrors: false,
    disableFontFace: true,
    useSystemFonts: false,
    maxImageSize: ocr === undefined ? 0 : OCR_LIMITS.pixels,
    verbosity: 0,
  }).catch((error: unknown) => {
    throw unreadable(error)
  })
  const { numPages } = document
  const most = DOCUMENT_LIMITS
  if (numPages > most.pages) throw new DocumentError('too_large', `The PDF has ${numPages} pages; ${most.pages} are read at most.`)
  const pages: (readonly Line[])[] = []
  const unread = new Unread()
  const unknown = new Set<number>()
  let characters = 0
  for (let number = 1; number <= numPages; number++) {
    const failed = (error: unknown): never => {
      throw unreadable(error, number)
    }
    const page = await document.getPage(number).catch(failed)
    const texts = textsIn(await page.getTextContent().catch(failed))
    const isMark = watermarkOf(texts)
    unread.addEdge(texts.flatMap((item) => (isMark(item) ? item.str : [])).join(''))
    const items = texts.filter((item) => !isMark(item)).map(upright)
    addFields(items, (await page.getAnnotations().catch(failed)) as readonly Annotation[], unread)
    if (unknownIn(items) > 0) unknown.add(number)
    const lines = edgesInPlace(rowsInPlace(withMarks(linesOf(items, number))))
    characters += lines.reduce((sum, { text }) => sum + text.length, 0)
    if (characters > most.characters)
      throw new DocumentError('too_large', `The PDF has more than ${most.characters} characters of text, which is the most that is read.`)
    pages.push(lines)
    page.cleanup()
  }
  const empty = pages.flatMap((lines, i) => (lines.length === 0 ? [i + 1] : []))
  const height = mostOf(pages.flat().map((line) => [line.height, line.text.length])) || OCR_HEIGHT
  const read = await ocr?.(empty, async (number) => (await import('./ocr/scan.ts')).drawImages(await document.getPage(number)))
  for (const [number, text] of read?.texts ?? []) pages[number - 1] = textLines(text, number, height)
  const warnings =
    read?.warnings ??
    (empty.length === 0
      ? []
      : [`${empty.length} of ${numPages} pages have no text, and may be scanned (${listed(empty)}): set CEPE_OCR to read such pages.`])
  if (encodings.size > 0)
    warnings.push(`Text in fonts of the encodings ${listed([...encodings])} is missing: save the PDF with its fonts embedded.`)
  if (pages.every((lines) => lines.length === 0)) {
    const isScan = read === undefined && encodings.size === 0
    const remedy = isScan ? 'it seems to be scanned. Set CEPE_OCR, or send one with recognised text.' : warnings.join(' ')
    throw new DocumentError('scanned', `The PDF has ${counted(numPages, 'page')} and no text: ${remedy}`)
  }
  if (unknown.size > 0) warnings.push(`Characters of fonts without Unicode values are missing (pages ${listed([...unknown])}).`)
  const { title, attached, layers } = await aboutFile(document, unread)
  if (layers.length > 0) warnings.push(`Layers that are not shown were read like the others: ${listed(layers)}.`)
  if (attached.length > 0) warnings.push(`Attachments were not read: ${listed(attached)}.`)
  return { pages, title, warnings: [...warnings, ...unread.warnings] }
}

/** What the library asks for and is not there: the names of encodings that only files of their own explain. */
function missingFiles() {
  const encodings = new Set<string>()
  class BinaryDataFactory {
    fetch({ kind, filename }: { readonly kind: string; readonly filename: string }): Promise<never> {
      if (kind === 'cMapUrl') encodings.add(filename.replace(/\.bcmap$/, ''))
      return Promise.reject(new Error(`${filename} is not there`))
    }
  }
  return { encodings, BinaryDataFactory }
}

async function aboutFile(document: Awaited<ReturnType<typeof getDocumentProxy>>, unread: Unread) {
  const { info } = (await document.getMetadata().catch(() => undefined)) ?? {}
  const { Title: title, IsXFAPresent: hasXfa } = (info ?? {}) as Readonly<Record<string, unknown>>
  if (hasXfa === true) unread.add('XFA forms')
  const attached = Object.keys(((await document.getAttachments().catch(() => undefined)) ?? {}) as object)
  const groups = (await document.getOptionalContentConfig().catch(() => undefined)) ?? []
  const all = Array.from(groups as Iterable<[string, { name: string; visible: boolean }]>, ([, group]) => group)
  const layers = all.flatMap(({ name, visible }) => (visible ? [] : [inline(name)]))
  return { title: typeof title === 'string' && !NO_TITLE.test(title) ? titleText(inline(title), LONGEST_TITLE) : '', attached, layers }
}

/** Letters' height in points, where no page has text, and widths in heights. */
const [OCR_HEIGHT, LETTER_WIDTH] = [10, 0.5]

/** Lines of a recognised text; blank ones separate paragraphs. */
export function textLines(text: string, page: number, height = OCR_HEIGHT): Line[] {
  let base = 0
  const lines = text.split('\n').map((line) => {
    const text = line.trim()
    const shown = { text, page, height, base, left: 0, right: text.length * LETTER_WIDTH * height }
    base -= (text === '' ? 2 : 1) * 1.2 * height
    return shown
  })
  return lines.filter(({ text }) => text !== '')
}

/** Tells the letters of a watermark, or of a stamp, from others of a page. */
function watermarkOf(items: readonly Item[]): (item: Item) => boolean {
  const most = WATERMARK.height * mostOf(items.map(({ height, str }) => [Math.round(height), str.length]))
  return ({ height, transform: [a, b] }) =>
    height > most && Math.min(Math.abs(Number(a)), Math.abs(Number(b))) > WATERMARK.slant * Math.hypot(Number(a), Number(b))
}

/** An item as on a page that is turned so that the item's line is horizontal. */
function upright(item: Item): Item {
  const [a, b, , , x, y] = item.transform.map(Number) as [number, number, number, number, number, number]
  const length = Math.hypot(a, b)
  if ((b === 0 && a > 0) || length === 0) return item
  const [cos, sin] = [a / length, b / length]
  return { ...item, transform: [length, 0, 0, length, x * cos + y * sin, y * cos - x * sin] }
}

function linesOf(items: readonly Item[], page: number): Line[] {
  const lines: Line[] = []
  const line: Item[] = []
  const printed = new Map<string, Item[]>()
  for (const item of items) {
    const same = printed.get(item.str) ?? []
    const last = line.at(-1)
    // Parts that a page is composed of end no line.
    if (last !== undefined && last.str.trim() !== '' && item.str.trim() !== '') {
      const height = Math.max(last.height, item.height)
      const isInitial = leftOf(item) < leftOf(last) && item.height >= INITIAL.ratio * last.height
      if (isInitial || Math.abs(Number(item.transform[5]) - Number(last.transform[5])) > height) lines.push(...lineOf(line.splice(0), page))
      else if (leftOf(item) - leftOf(last) - last.width > WORD_GAP * height) line.push({ ...last, str: ' ', width: 0 })
    }
    const isAt = ({ transform }: Item): boolean =>
      [4, 5].every((i) => Math.abs(Number(item.transform[i]) - Number(transform[i])) < OVERPRINT * item.height)
    if (item.str.trim() === '' || !same.some(isAt)) line.push(item)
    printed.set(item.str, [...same.slice(-MOST_COMPARED), item])
    if (item.hasEOL) lines.push(...lineOf(line.splice(0), page))
  }
  return [...lines, ...lineOf(line, page)]
}

/** Lines of a page, each mark of a list that is a line by itself before its item, each large initial before the first line next to it. */
function withMarks(lines: readonly Line[]): readonly Line[] {
  const isInitial = ({ text }: Line): boolean => INITIAL.text.test(text)
  const marks = new Set(lines.filter((line) => MARK.text.test(line.text) || isInitial(line)))
  return [...marks].reduce((all, mark) => {
    const { text, base, left, right, height } = mark
    const isNextTo = (line: Line): boolean =>
      line.height * INITIAL.ratio <= height &&
      line.base > base - line.height / 2 &&
      line.base < base + height &&
      Math.abs(line.left - right) < line.height
    const isOf = (line: Line): boolean =>
      !marks.has(line) &&
      Math.abs(base - line.base) < OVERPRINT * line.height &&
      Math.abs(line.left - right - (MARK.gap * line.height) / 2) <= (MARK.gap * line.height) / 2
    const [first, next] = all.filter(isInitial(mark) ? isNextTo : isOf)
    if (first === undefined) return all
    const isWord = !isInitial(mark) || (next !== undefined && first.left - next.left > WORD_GAP * first.height)
    const whole = { ...first, text: `${text}${isWord ? ' ' : ''}${first.text}`, left: isInitial(mark) ? first.left : left }
    return all.flatMap((line) => (line === mark ? [] : line === first ? [whole] : [line]))
  }, lines)
}

/** The lines of a page with heads that are printed after the text before it, and feet that are printed before it after it. */
function edgesInPlace(lines: readonly Line[]): readonly Line[] {
  const text = lines.slice(EDGE_LINES, -EDGE_LINES)
  const [top, low] = text.reduce(([most, least], { base }) => [Math.max(most, base), Math.min(least, base)], [-Infinity, Infinity])
  const isHead = ({ base, height }: Line): boolean => base > top + height
  const isFoot = ({ base, height }: Line): boolean => base < low - height
  const [before, after] = [lines.slice(0, EDGE_LINES), lines.slice(EDGE_LINES + text.length)]
  if (text.length < EDGE_LINES || !(before.some(isFoot) || after.some(isHead))) return lines
  return [
    ...after.filter(isHead),
    ...before.filter((line) => !isFoot(line)),
    ...text,
    ...after.filter((line) => !isHead(line)),
    ...before.filter(isFoot),
  ]
}

/** The line of the items between two line ends; none without letters. */
function lineOf(items: readonly Item[], page: number): Line[] {
  const letters = items.filter(({ str }) => str.trim() !== '')
  const height = mostOf(letters.map((item) => [item.height, item.str.length]))
  const first = letters.find((item) => item.height === height)
  if (first === undefined) return []
  const base = mostOf(letters.map((item) => [Number(item.transform[5]), item.height === height ? item.str.length : 0]))
  /** Where the letters of the cell are; undefined before its first one, which may be printed higher or lower than those of others. */
  let own: number | undefined = base
  const isLow = (item: Item): boolean => item.height < RAISED.height * height
  /** How far an item is raised, if it is a script. */
  const riseOf = (item: Item): number => {
    const [rise, isSmall] = [(Number(item.transform[5]) - (own ?? base)) / height, isLow(item)]
    if (own === undefined && !isSmall) return 0
    return Math.abs(rise) > (isSmall ? RAISED.rise : RAISED.ofAny) && (isSmall || item.str.trim().length <= RAISED.letters) ? rise : 0
  }
  let [text, raised] = ['', '']
  let column: number | undefined
  const cells = [{ start: 0, left: Infinity, right: 0 }]
  let [heightBefore, riseBefore] = [0, 0]
  const endRaised = (after = ''): void => {
    const isFirst = text.trim() === '' && /^\d{1,3}$/.test(raised.trim())
    text += isFirst ? `[${raised.trim()}] ` : raisedText(raised.replace(/\s+/g, ' '), text, false, after)
    raised = ''
  }
  const ordered = closedUp(inReadingOrder(items))
  for (const [i, item] of ordered.entries()) {
    const { str, width } = item
    const isBlank = str.trim() === ''
    const rise = isBlank ? 0 : riseOf(item)
    if (isBlank ? width > CELL_GAP * height : rise === 0 && !isLow(item)) own = isBlank ? undefined : Number(item.transform[5])
    const [above, under] = [raised.trim(), ordered[i + 1]]
    // "3 1/2" is not 3^1/2.
    const isMixed = /^\d+$/.test(above) && /\d$/.test(text) && /^[/\u2044]$/.test(str) && under !== undefined && riseOf(under) < 0
    if (rise > 0) raised += str
    else {
      if (isMixed) [text, raised] = [`${text} ${above}`, '']
      endRaised(str)
      if (text.endsWith('\t')) column = Number(item.transform[4])
      // A script and the number after it are two numbers.
      if ((riseBefore !== 0 || heightBefore < RAISED.height * item.height) && /\d$/.test(text) && /^\d/.test(str)) text += ' '
      if (isBlank && width > CELL_GAP * height) cells.push({ start: text.length, left: Infinity, right: 0 })
      text += isBlank && width > COLUMN_GAP * height ? '\t' : str
    }
    const cell = at(cells, cells.length - 1)
    if (!isBlank) Object.assign(cell, { left: Math.min(cell.left, leftOf(item)), right: Math.max(cell.right, leftOf(item) + width) })
    ;[heightBefore, riseBefore] = [item.height, rise]
  }
  endRaised()
  const shown = cells.map(({ start, left, right }, i) => ({ text: inline(lettersIn(text.slice(start, cells[i + 1]?.start))), left, right }))
  text = lettersIn(text).trim()
  // The number of an item may be close to it.
  text = text.replace(/^(\d{1,3}[.)])(?=\p{Lu}\p{Ll})/u, '$1 ')
  const left = letters.reduce((least, item) => Math.min(least, leftOf(item)), Infinity)
  const right = letters.reduce((most, item) => Math.max(most, leftOf(item) + item.width), 0)
  const [font = '', otherFont] = new Set(letters.map(({ fontName }) => fontName))
  const isFixed = letters.every((item) => item.isFixed)
  const line = { text, page, height, base, left, right, isFixed, cells: shown.filter(({ text }) => text !== '') }
  return text === '' ? [] : [{ ...line, ...(otherFont === undefined && { font }), ...(column !== undefined && { column }) }]
}

/** The value with the largest sum of weights. */
export function mostOf(weighted: readonly (readonly [value: number, weight: number])[]): number {
  const sums = new Map<number, number>()
  for (const [value, weight] of weighted) sums.set(value, (sums.get(value) ?? 0) + weight)
  return [...sums].reduce((most, next) => (next[1] > most[1] ? next : most), [0, 0])[0]
}

function unreadable(error: unknown, page?: number): DocumentError {
  if (error instanceof Error && error.name === 'PasswordException')
    return new DocumentError('encrypted', 'The PDF is encrypted: send it without a password.', error)
  const place = page === undefined ? '' : ` at page ${page}`
  return new DocumentError('damaged', `The PDF cannot be read${place} (${reasonOf(error)}).`, error)
}
