import { at } from '../../../base/at.ts'
import { CONJUNCTIONS, inline, listed, quoted, unwrapped, type Block, type BlockDocument, type PageBreak } from './contract.ts'
import type { Ocr } from './ocr/engine.ts'
import { mostOf, readPdfPages, type Line, type PdfPages } from './pdf-lines.ts'
import { withColumnNames } from './markup/printed-tables.ts'
import { marked, MARKS } from './texts/plain.ts'
import { runningHeads } from './running-heads.ts'

const ITEM = new RegExp(`^(?:[-*\u2013${MARKS}]\\s+\\S|\\(?\\d{1,3}[.)]\\s+\\S)`)
/** An item of any size, as slides have them. */
const BULLETED = new RegExp(`^[\u2013${MARKS}]\\s`)
/** An item after another one, or a sentence; in one, such a mark may begin any line. */
const LETTERED = /^\(?(?:[a-z]|[ivx]{2,5})[.)]\s+\S/
/** An item whose number has no mark. */
const BARE = /^(\d{1,2})\s+\p{Lu}/u
const ENDS_SENTENCE = /[.!?:;\u3002\u201d"')\]]$/
/** Lines further apart than this many letters' heights belong to different paragraphs. */
const PARAGRAPH_GAP = 2
/** Distances of lines of a listing at most, and where a blank one is between them, in heights of letters. */
const [LISTING_GAP, BLANK_LINE] = [3, 1.9]
/** Distance of pages that are read as one, in heights of letters. */
const PAGE_GAP = 100
/** Letters so much larger than the document's own are a heading's. */
const HEADING_RATIO = 1.15
const LONGEST_HEADING = 200
const MOST_LEVELS = 6
/** Dots from an entry of a table of contents to its page. */
const LEADERS = /(?:\s?[.\u2026\u00b7]){5,}\s*/g
/** An entry of a table of contents or an index: dots, or a comma, and the pages; not those of an amount (10.000,00). */
const ENTRY = /^(.*?)(?:(?:\s?[.\u2026\u00b7]){5,}|((?<!\d),|,(?=\s)))\s*([1-9]\d*)(?:(?:,\s+|\s?[\u2013-]\s*)\d+)*$/u
/** Entries at least; lines between two of them at most (a chapter, a letter); share of an index's entries in the order of the alphabet. */
const RUN = { entries: 10, commas: 20, between: 2, sorted: 0.75 }
/** Footnotes: the height of their letters at most, in those of the text; their share of a page; how one begins. */
const NOTES = { height: 0.92, share: 0.5, mark: /^(?:\[\d{1,3}\]|[*\u2020\u2021])\s?\S/u }
const CONJUNCTION = new RegExp(`^(?:${CONJUNCTIONS})$`)
/** An address that continues in the next line, with the sign that it is divided after. */
const ADDRESS = /(?:https?:\/\/|www\.|\S@)\S*[-_=&?%+]$/i
/** Words with a hyphen, which lines may be divided at. */
type Compounds = Pick<ReadonlySet<string>, 'has'>
/** A word that the end of a line divides; the number, or the share of the wrapped lines, from or below which none is hyphenated. */
const DIVIDED = /(\p{L}+)-\n(\p{Ll}+)/gu
const COMPOUNDS = { least: 3, share: 0.02 }
const COMPOUND = /\p{L}+-\p{L}+/gu
/** Lines before and after one that show how wide its column is; the share of them that are not wider. */
const NEIGHBOURS = 40
const COLUMN_SHARE = 0.95
/** Difference of left edges, in heights of letters, within one column. */
const INDENT = 4
/** Distance of an item's further lines from its mark at most, in heights of letters. */
const ITEM_INDENT = 8

/**
 * A PDF: paragraphs, lists and headings by the size of their letters (the largest are of level 1); running heads and page numbers left
 * out. Tables are read line by line, unless cells are empty or wrapped.
 * @throws document_invalid (broken, encrypted), document_without_text (scanned), payload_too_large
 */
export async function pdfDocument(bytes: Uint8Array, ocr?: Ocr): Promise<BlockDocument> {
  return pagesDocument(await readPdfPages(bytes, ocr))
}

/** The blocks of lines by pages. */
export function pagesDocument({ pages, title, warnings: read }: PdfPages): BlockDocument {
  const found = runningHeads(pages)
  // A document of running heads alone.
  const running = found.size < pages.flat().length ? found : new Set<Line>()
  const text = pages.map((lines) => lines.filter((line) => !running.has(line)))
  const contents = contentsOf(text.flat(), pages.length)
  const named = withColumnNames(belowEachOther(text.map((lines) => lines.filter((line) => !contents.has(line)))))
  const kept: Line[][] = pages.map(() => [])
  for (const line of named) kept[line.page - 1]?.push(line)
  const heads = quoted([...new Set([...running].map(({ text }) => inline(text)))])
  const left = running.size === 0 ? '' : `${running.size} lines are left out as running heads: ${heads}.`
  const bare = text.flatMap((lines, i) => (lines.length === 0 && pages[i]?.length ? [i + 1] : []))
  const alone = bare.length === 0 ? '' : `${bare.length} pages have running heads alone, and may be scanned (${listed(bare)}).`
  const contentsPages = listed([...contents].map(({ page }) => page))
  const unread = contents.size === 0 ? '' : `Not read: tables of contents and indexes (pages ${contentsPages}).`
  const warnings = [left, alone, unread, ...read].filter((one) => one !== '')
  // A document of entries alone.
  return { title, blocks: blocksOf(kept.some((lines) => lines.length > 0) ? kept : text), pages: pages.length, warnings }
}

/** The lines of all pages with the places that they have on one: a page that may begin with a row of the table before it follows that closely. */
function belowEachOther(pages: readonly (readonly Line[])[]): readonly Line[] {
  const all: Line[] = []
  let low = 0
  for (const lines of pages) {
    const [before, first] = [all.at(-1), lines[0]]
    if (first === undefined) continue
    const continues = (first.cells ?? []).length > 2 && Math.abs(first.left - (before?.left ?? Infinity)) < first.height / 2
    const top = lines.reduce((most, { base }) => Math.max(most, base), -Infinity)
    const shift = low - (continues ? PARAGRAPH_GAP : PAGE_GAP) * first.height - top
    const placed = lines.map((line) => ({ ...line, base: line.base + shift }))
    low = placed.reduce((least, { base }) => Math.min(least, base), low)
    for (const line of placed) all.push(line)
  }
  return all
}

/** Lines of tables of contents, whose pages never fall, and of indexes, after most of their pages and in the order of the alphabet: amounts have neither. */
function contentsOf(lines: readonly Line[], pages: number): ReadonlySet<Line> {
  const found: Line[] = []
  let run: Line[] = []
  let entries: { readonly page: number; readonly isBefore: boolean; readonly letter: string; readonly comma: string | undefined }[] = []
  let between = 0
  const end = (): void => {
    const hasComma = entries.some(({ comma }) => comma !== undefined)
    const rising = !hasComma && entries.every(({ page }, i) => page >= (entries[i - 1]?.page ?? 0))
    const sorted = entries.filter(({ letter, isBefore }, i) => isBefore && letter >= (entries[i - 1]?.letter ?? ''))
    if (entries.length >= (hasComma ? RUN.commas : RUN.entries) && (rising || sorted.length >= RUN.sorted * entries.length))
      found.push(...run.slice(0, run.length - between))
    run = []
    entries = []
    between = 0
  }
  for (const line of lines) {
    const [, name = '', comma, page = Infinity] = ENTRY.exec(line.text) ?? []
    const number = Number(page)
    const isEntry = number <= pages
    if (isEntry || entries.length > 0) run.push(line)
    if (isEntry) entries.push({ page: number, isBefore: number < line.page, letter: name.trim().charAt(0).toLowerCase(), comma })
    between = isEntry ? 0 : between + 1
    // A sentence is text again.
    if (between > RUN.between || (!isEntry && ENDS_SENTENCE.test(line.text))) end()
  }
  end()
  return new Set(found)
}

/** Lines at the end of a page that are its footnotes, from the first mark on. */
function notesOf(lines: readonly Line[], body: number): readonly Line[] {
  const text = lines.findLastIndex(({ height }) => height > NOTES.height * body)
  const small = lines.slice(text + 1)
  const first = small.findIndex((line) => NOTES.mark.test(line.text))
  return first < 0 || small.length > NOTES.share * lines.length ? [] : small.slice(first)
}

function isTitle(text: string): boolean {
  return text.length <= LONGEST_HEADING && !BULLETED.test(text) && /[\p{L}\p{N}].*[\p{L}\p{N}]/u.test(text.replace(/\p{Lm}/gu, ''))
}

function blocksOf(pages: readonly (readonly Line[])[]): Block[] {
  const body = mostOf(pages.flat().map(({ height, text }) => [Math.round(height), text.length]))
  const notes = pages.map((lines) => notesOf(lines, body))
  const isFixed = mostOf(pages.flat().map((line) => [Number(line.isFixed), line.text.length])) === 1
  const lines = pages.flatMap((page, i) => withListings(page.slice(0, page.length - (notes[i]?.length ?? 0)), isFixed))
  const compounds = dividesAtHyphens(lines)
    ? { has: () => true }
    : new Set(lines.flatMap(({ text }) => text.toLowerCase().match(COMPOUND) ?? []))
  const blocks = openBlocks(lines, headingLevels(lines, body), compounds)
  for (const page of notes) addNotes(blocks, page, compounds)
  return blocks.map(({ block }) => block)
}

/** Whether lines end within words at the hyphens of compounds alone: the words before these are in the text too, and are many, or few of the lines. */
function dividesAtHyphens(lines: readonly Line[]): boolean {
  const text = lines.map(({ text }) => text).join('\n')
  const words = new Set(
    text
      .replace(DIVIDED, ' ')
      .toLowerCase()
      .match(/\p{L}+/gu),
  )
  const divided = Array.from(text.matchAll(DIVIDED), ([, first = '', second = '']) => [first.toLowerCase(), second] as const)
  const wrapped = text.match(/[\p{L},-]\n(?=\p{Ll})/gu)?.length ?? 0
  const areWords = divided.every(([first, second]) => first.length > 2 && words.has(first) && !words.has(first + second))
  return areWords && (divided.length > COMPOUNDS.least || divided.length < COMPOUNDS.share * wrapped)
}

/** Lines of a page, those of a listing as one. @param isText whether letters that are all as wide are those of the text */
function withListings(lines: readonly Line[], isText: boolean): Line[] {
  const runs: [Line, ...Line[]][] = []
  for (const line of lines) {
    const run = runs.at(-1)
    const before = run?.at(-1)
    const isCode = [before, line].every((one) => one?.isFixed === true && one.isRow !== true && !BULLETED.test(one.text))
    if (isCode && before && !isText && before.base > line.base && before.base - line.base < LISTING_GAP * line.height) run?.push(line)
    else runs.push([line])
  }
  return runs.map((run) => {
    const [first, ...others] = run
    const edge = Math.min(...run.map(({ left }) => left))
    // Wide gaps are one character.
    const width = Math.min(...run.map(({ text, left, right }) => (right - left) / text.length))
    const texts = run.map(({ text, left, base }, i) => {
      const isBelowBlank = i > 0 && at(run, i - 1).base - base > BLANK_LINE * first.height
      return `${isBelowBlank ? '\n' : ''}${' '.repeat(Math.round((left - edge) / width))}${text}`
    })
    return others.length === 0 ? first : { ...first, text: texts.join('\n'), isListing: true }
  })
}

/** The level of a heading by the size of its letters; undefined of another line. */
function headingLevels(lines: readonly Line[], body: number): (line: Line) => number | undefined {
  const isHeading = ({ height, text, cells = [] }: Line): boolean => height > HEADING_RATIO * body && isTitle(text) && cells.length < 3
  const sizesOf = (some: readonly Line[]): Set<number> => new Set(some.filter(isHeading).map(({ height }) => Math.round(height)))
  const later = sizesOf(lines.filter(({ page }) => page > 1))
  // Of a cover only the largest letters stand above what follows.
  const sizes = [...sizesOf(lines)].sort((a, b) => b - a).filter((size, i) => i === 0 || later.size === 0 || later.has(size))
  return (line) => {
    const place = isHeading(line) ? sizes.indexOf(Math.round(line.height)) : -1
    return place < 0 ? undefined : Math.min(MOST_LEVELS, place + 1)
  }
}

function openBlocks(lines: readonly Line[], levelOf: (line: Line) => number | undefined, compounds: Compounds): OpenBlock[] {
  const blocks: OpenBlock[] = []
  const bare = bareItems(lines)
  /** Where the last column of the current row begins. */
  let column: number | undefined
  /** Offset of the current list's markers. */
  let mark = 0
  for (const [i, line] of lines.entries()) {
    const [last, before] = [blocks.at(-1), lines[i - 1]]
    const gap = before?.page === line.page ? Math.abs(before.base - line.base) : Infinity
    const follows = gap <= PARAGRAPH_GAP * Math.max(before?.height ?? 0, line.height)
    // The second bullet of Word is a letter of another font, set apart.
    const isBullet = line.font === undefined && line.cells?.[0]?.text === 'o'
    const text = inline((isBullet ? line.text.replace('o', '\u25e6') : line.text).replace(LEADERS, ' ... '))
    const level = levelOf(line)
    if (line.isListing === true) blocks.push(new OpenBlock('code', line.text, line.page))
    else if (level !== undefined) {
      if (last?.kind === 'heading' && follows && last.level === level && isAligned(before, line)) last.extend(text, line.page, compounds)
      else blocks.push(new OpenBlock('heading', text, line.page, level))
    } else if (
      bare.has(line) ||
      (ITEM.test(text) && !(follows && isContinued(lines, i, last?.kind === 'paragraph'))) ||
      (LETTERED.test(text) && (last?.kind === 'list' || (last?.kind !== 'heading' && /[.:;]$/.test(before?.text ?? ''))))
    ) {
      mark = line.left
      if (last?.kind === 'list') last.add(marked(text), line.page)
      else blocks.push(new OpenBlock('list', marked(text), line.page))
    } else if (
      last?.kind === 'list' &&
      (before?.height ?? 0) < HEADING_RATIO * line.height &&
      (follows
        ? line.left > mark - 1 && line.left < mark + ITEM_INDENT * line.height && (line.left > mark + line.height || !isBroken(lines, i))
        : continues(last.lastLine, line, before))
    )
      last.extend(text, line.page, compounds)
    else if (line.isRow || line.text.includes('\t') || text.includes(' ... ')) {
      column = line.column
      if (last?.kind === 'table' && follows) last.add(text, line.page)
      else blocks.push(new OpenBlock('table', text, line.page))
    } else if (last?.kind === 'table' && follows && column !== undefined && Math.abs(line.left - column) < line.height / 2)
      // The last cell continues.
      last.extend(text, line.page, compounds)
    else if (last?.kind === 'paragraph' && (follows ? !isBroken(lines, i) : continues(last.lastLine, line, before)))
      last.extend(text, line.page, compounds)
    else blocks.push(new OpenBlock('paragraph', text, line.page))
  }
  return blocks
}

/** Adds the lines of a page's footnotes, each note as a paragraph. */
function addNotes(blocks: OpenBlock[], lines: readonly Line[], compounds: Compounds): void {
  let open: OpenBlock | undefined
  for (const { text, page } of lines)
    if (open !== undefined && !NOTES.mark.test(text)) open.extend(inline(text), page, compounds)
    else {
      open = new OpenBlock('paragraph', inline(text), page)
      // After a paragraph that continues on the next page.
      blocks.splice(blocks.findLastIndex((block) => block.page <= page) + 1, 0, open)
    }
}

/** Lines that begin with the next number of a list, which begins below a colon. */
function bareItems(lines: readonly Line[]): ReadonlySet<Line> {
  const items = new Set<Line>()
  let [number, edge] = [0, 0]
  for (const [i, line] of lines.entries()) {
    const own = Number(BARE.exec(line.text)?.[1] ?? 0)
    if (own === 1 ? !/:\s*$/.test(lines[i - 1]?.text ?? '') : own !== number + 1 || Math.abs(line.left - edge) > 1) continue
    items.add(line)
    ;[number, edge] = [own, line.left]
  }
  return items
}

/** Whether a number begins a line within a sentence: a range ends with it ("10-"), or a paragraph whose line before is full. */
function isContinued(lines: readonly Line[], i: number, isParagraph: boolean): boolean {
  const [before = '', text = ''] = [lines[i - 1]?.text, lines[i]?.text]
  if (!/^\d/.test(text)) return false
  return /\d\s?[-\u2013]$/.test(before) || (isParagraph && !text.startsWith('1.') && !/[.:;!?]$/.test(before) && !isBroken(lines, i))
}

class OpenBlock {
  /** Lines of each item or row, or of the text. */
  readonly #parts: string[][]
  readonly #breaks: PageBreak[] = []
  #length: number

  constructor(
    readonly kind: Block['kind'],
    text: string,
    readonly page: number,
    readonly level = 1,
  ) {
    this.#parts = [[text]]
    this.#length = text.length
  }

  get lastLine(): string {
    return this.#parts.at(-1)?.at(-1) ?? ''
  }

  add(text: string, page: number): void {
    this.#parts.push([])
    this.#append(text, page, 1)
  }

  /** Continues the last item, row or paragraph; a word divided at the line's end is joined. @param compounds words with a hyphen */
  extend(text: string, page: number, compounds: Compounds): void {
    const lines = this.#parts.at(-1) ?? []
    const before = lines.pop() ?? ''
    const [start] = /[\p{L}\p{N}]+-$/u.exec(before) ?? []
    const [end] = /^[\p{L}\p{N}]+/u.exec(text) ?? []
    const isJoined = start !== undefined && end !== undefined && !CONJUNCTION.test(end)
    // "2019-2020", "Baden-Baden" and compounds keep their hyphen.
    const isAddress = ADDRESS.test(`${lines.slice(-2).join('')}${before}`)
    const isDivided = isJoined && !isAddress && /^\p{L}+-\p{Ll}/u.test(start + end) && !compounds.has((start + end).toLowerCase())
    const gap = isJoined || isAddress || unwrapped(`${before.slice(-1)}\n${text.charAt(0)}`).length < 3 ? '' : ' '
    lines.push(isDivided ? before.slice(0, -1) : before + gap)
    this.#append(text, page, isDivided ? -1 : gap.length)
  }

  #append(text: string, page: number, gap: number): void {
    this.#length += gap
    if (page !== (this.#breaks.at(-1)?.page ?? this.page)) this.#breaks.push({ at: this.#length, page })
    this.#parts.at(-1)?.push(text)
    this.#length += text.length
  }

  get block(): Block {
    const { kind, level } = this
    const place = { page: this.page, ...(this.#breaks.length > 0 && { breaks: this.#breaks }) }
    const texts = this.#parts.map((lines) => lines.join(''))
    if (kind === 'list') return { kind, items: texts, ...place }
    if (kind === 'table') return { kind, rows: texts, ...place }
    const text = texts.join('\n')
    return kind === 'heading' ? { kind, level, text, ...place } : { kind, text, ...place }
  }
}

/** Whether two lines begin, end or are centred at one place: a line below a heading may be another one. */
function isAligned(before: Line | undefined, { text, left, right, height }: Line): boolean {
  if (before === undefined || /^\d{1,2}\.(?:\d+\.?)*\s/.test(text)) return false
  const isIndented = left > before.left - height && left < before.left + INDENT * height
  return isIndented || Math.abs(right - before.right) < height || Math.abs(left + right - before.left - before.right) < 2 * height
}

/** Whether a paragraph or an item continues on the next page, or in the next column. */
function continues(text: string, line: Line, before: Line | undefined): boolean {
  const isElsewhere = before && (before.page < line.page || (before.base < line.base && before.right < line.left))
  return isElsewhere === true && !ENDS_SENTENCE.test(text) && /^\p{Ll}/u.test(line.text)
}

/** Whether the line before ended although its column had room for this line's first word. */
function isBroken(lines: readonly Line[], i: number): boolean {
  const [before, line] = [lines[i - 1], lines[i]]
  if (before === undefined || line === undefined || /^\p{Ll}/u.test(line.text) || /\p{L}-$|\d[-\u2013]$/u.test(before.text)) return false
  const column = lines
    .slice(Math.max(0, i - NEIGHBOURS), i + NEIGHBOURS)
    .filter(({ page, left }) => page === before.page && Math.abs(left - before.left) <= INDENT * before.height)
    .map(({ right }) => right)
    .sort((a, b) => a - b)
  const word = ((line.text.search(/\s|$/) + 1) * (line.right - line.left)) / line.text.length
  return before.right + word < at(column, Math.floor(COLUMN_SHARE * (column.length - 1)))
}
