import type { DocumentLimits } from '../contract.ts'
import { bodyHeight, HEADING_RATIO, LONGEST_HEADING, PARAGRAPH_GAP, readPdfPages, type Line } from '../pdf.ts'
import { inline, type Block, type BlockDocument } from './contract.ts'
import { marked } from './plain.ts'

const ITEM = /^(?:[-*\u2022\u25e6\u25aa\u25cf\uf0b7\u2013]\s+\S|\(?\d{1,3}[.)]\s+\S)/
const ENDS_SENTENCE = /[.!?:;\u3002\u201d"')\]]$/
/** Lines at a page's edges that can be running heads. */
const EDGE_LINES = 2
/** Minimum number and share of pages on which a running head repeats. */
const LEAST_PAGES = 3
const RUNNING_SHARE = 0.5

interface PageLine extends Line {
  readonly page: number
}

/**
 * A PDF: paragraphs, lists and headings by the size of their letters (the largest are of level 1); running heads and page numbers left
 * out. Tables are read line by line.
 * @throws document_invalid (broken, encrypted), document_without_text (scanned), payload_too_large
 */
export async function pdfDocument(bytes: Uint8Array, limits: DocumentLimits): Promise<BlockDocument> {
  const { pages, title } = await readPdfPages(bytes, limits)
  const running = runningLines(pages)
  const lines = pages.flatMap((page, i) =>
    page
      .filter((line, at) => !(isEdge(at, page.length) && running.has(pattern(line.text))))
      .map((line) => ({ ...line, text: inline(line.text), page: i + 1 })),
  )
  return { type: 'pdf', title, blocks: blocksOf(lines) }
}

function isEdge(at: number, length: number): boolean {
  return at < EDGE_LINES || at >= length - EDGE_LINES
}

/** Numbers differ from page to page. */
function pattern(text: string): string {
  return inline(text).replace(/\d+/g, '0')
}

/** Lines that repeat at the edges of most pages. */
function runningLines(pages: readonly (readonly Line[])[]): ReadonlySet<string> {
  const counts = new Map<string, number>()
  for (const page of pages) {
    const edges = new Set(page.filter((_, at) => isEdge(at, page.length)).map(({ text }) => pattern(text)))
    for (const text of edges) counts.set(text, (counts.get(text) ?? 0) + 1)
  }
  const least = Math.max(LEAST_PAGES, pages.length * RUNNING_SHARE)
  return new Set([...counts].filter(([, count]) => count >= least).map(([text]) => text))
}

function blocksOf(lines: readonly PageLine[]): Block[] {
  const body = bodyHeight(lines)
  const isHeading = ({ height, text }: PageLine): boolean => height > HEADING_RATIO * body && text.length <= LONGEST_HEADING
  const sizes = [...new Set(lines.filter(isHeading).map(({ height }) => Math.round(height)))].sort((a, b) => b - a)
  const blocks: Block[] = []
  let before: PageLine | undefined
  /** Offset of the current list's markers. */
  let mark = 0
  for (const line of lines) {
    const last = blocks.at(-1)
    const follows = before !== undefined && isNext(before, line)
    if (isHeading(line)) {
      const level = Math.min(6, sizes.indexOf(Math.round(line.height)) + 1)
      if (last?.kind === 'heading' && follows && last.level === level) blocks.splice(-1, 1, { ...last, text: `${last.text} ${line.text}` })
      else blocks.push({ kind: 'heading', level, text: line.text, page: line.page })
    } else if (ITEM.test(line.text)) {
      mark = line.left
      if (last?.kind === 'list') blocks.splice(-1, 1, { ...last, items: [...last.items, marked(line.text)] })
      else blocks.push({ kind: 'list', items: [marked(line.text)], page: line.page })
    } else if (last?.kind === 'list' && follows && line.left > mark - 1)
      blocks.splice(-1, 1, { ...last, items: [...last.items.slice(0, -1), joined(last.items.at(-1) ?? '', line.text)] })
    else if (last?.kind === 'paragraph' && (follows || continues(last.text, line, before)))
      blocks.splice(-1, 1, { ...last, text: joined(last.text, line.text) })
    else blocks.push({ kind: 'paragraph', text: line.text, page: line.page })
    before = line
  }
  return blocks
}

/** Whether a line directly follows another. */
function isNext(before: PageLine, line: PageLine): boolean {
  return before.page === line.page && Math.abs(before.base - line.base) <= PARAGRAPH_GAP * Math.max(before.height, line.height)
}

/** Whether a paragraph continues on the next page. */
function continues(text: string, line: PageLine, before: PageLine | undefined): boolean {
  return before !== undefined && before.page < line.page && !ENDS_SENTENCE.test(text) && /^\p{Ll}/u.test(line.text)
}

/** Joins words hyphenated at line ends. */
function joined(text: string, line: string): string {
  return /\p{L}-$/u.test(text) && /^\p{Ll}/u.test(line) ? text.slice(0, -1) + line : `${text} ${line}`
}
