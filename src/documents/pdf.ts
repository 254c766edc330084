import { getDocumentProxy } from 'unpdf'
import { at } from '../../base/at.ts'
import { messageOf } from '../../base/errors.ts'
import type { DocumentLimits, ReadDocument } from './contract.ts'
import { DocumentError } from './errors.ts'

/** A line of a page: its text, the height of its letters, and how far its base is above the page's lower edge and its first letter from the left one, in points. */
export interface Line {
  readonly text: string
  readonly height: number
  readonly base: number
  readonly left: number
}

/** Lines further apart than this many letters' heights belong to different paragraphs. */
export const PARAGRAPH_GAP = 2
/** Letters so much larger than the document's own are a heading's. */
export const HEADING_RATIO = 1.15
export const LONGEST_HEADING = 200

/** The lines of a PDF, page by page. */
export interface PdfPages {
  readonly pages: readonly (readonly Line[])[]
  readonly title: string
}

/**
 * The text of a PDF, page by page: lines are joined to paragraphs, words that were divided at a line's end put together,
 * larger lines marked as headings.
 * @throws document_invalid (broken, encrypted), document_without_text (scanned), payload_too_large
 */
export async function readPdf(bytes: Uint8Array, limits: DocumentLimits): Promise<ReadDocument> {
  const { pages, title } = await readPdfPages(bytes, limits)
  const body = bodyHeight(pages.flat())
  const starts: number[] = []
  let text = ''
  for (const lines of pages) {
    starts.push(text.length)
    const page = paragraphs(lines, body)
    text += page === '' ? '' : `${page}\n\n`
  }
  return { type: 'pdf', text, title, pages: starts }
}

/** @throws document_invalid (broken, encrypted), document_without_text (scanned), payload_too_large */
export async function readPdfPages(bytes: Uint8Array, limits: DocumentLimits): Promise<PdfPages> {
  const document = await getDocumentProxy(new Uint8Array(bytes), {
    isEvalSupported: false,
    stopAtErrors: false,
    disableFontFace: true,
    useSystemFonts: false,
    maxImageSize: 0,
    verbosity: 0,
  }).catch((error: unknown) => {
    throw unreadable(error)
  })
  const { numPages } = document
  if (numPages > limits.pages) throw new DocumentError('too_large', `The PDF has ${numPages} pages; ${limits.pages} are read at most.`)
  const pages: Line[][] = []
  let characters = 0
  for (let number = 1; number <= numPages; number++) {
    const page = await document.getPage(number).catch((error: unknown) => {
      throw unreadable(error, number)
    })
    const { items } = await page.getTextContent().catch((error: unknown) => {
      throw unreadable(error, number)
    })
    const lines = linesOf(items)
    characters += lines.reduce((sum, { text }) => sum + text.length, 0)
    if (characters > limits.characters)
      throw new DocumentError('too_large', `The PDF has more than ${limits.characters} characters of text, which is the most that is read.`)
    pages.push(lines)
    page.cleanup()
  }
  if (characters === 0)
    throw new DocumentError(
      'scanned',
      `The PDF has ${numPages} ${numPages === 1 ? 'page' : 'pages'} and no text: it seems to be scanned. Send one with recognised text (OCR).`,
    )
  return { pages, title: await titleOf(document) }
}

type Items = Awaited<ReturnType<Awaited<ReturnType<Awaited<ReturnType<typeof getDocumentProxy>>['getPage']>>['getTextContent']>>['items']

function linesOf(items: Items): Line[] {
  const lines: Line[] = []
  let text = ''
  let height = 0
  let base = 0
  let left = 0
  const finish = (): void => {
    if (text.trim() !== '') lines.push({ text: text.replace(/\0/g, '').trim(), height, base, left })
    text = ''
    height = 0
  }
  for (const item of items) {
    if (!('str' in item)) continue
    if (text.trim() === '') [left, base] = [Number(item.transform[4]), Number(item.transform[5])]
    text += item.str
    if (item.str.trim() !== '') height = Math.max(height, item.height)
    if (item.hasEOL) finish()
  }
  finish()
  return lines
}

/** Height of most letters. */
export function bodyHeight(lines: readonly Line[]): number {
  const letters = new Map<number, number>()
  for (const { height, text } of lines) letters.set(Math.round(height), (letters.get(Math.round(height)) ?? 0) + text.length)
  return [...letters].reduce((most, next) => (next[1] > most[1] ? next : most), [0, 0])[0]
}

function paragraphs(lines: readonly Line[], body: number): string {
  let text = ''
  let wasHeading = false
  for (const [i, line] of lines.entries()) {
    const isHeading = line.height > HEADING_RATIO * body && line.text.length <= LONGEST_HEADING
    const previous = i === 0 ? undefined : at(lines, i - 1)
    const apart = previous === undefined || Math.abs(previous.base - line.base) > PARAGRAPH_GAP * Math.max(previous.height, line.height)
    if (isHeading) text += wasHeading && !apart ? ` ${line.text}` : `${text === '' ? '' : '\n\n'}# ${line.text}`
    else if (text === '') text = line.text
    else if (apart || wasHeading) text += `\n\n${line.text}`
    else if (/\p{L}-$/u.test(text) && /^\p{Ll}/u.test(line.text)) text = text.slice(0, -1) + line.text
    else text += ` ${line.text}`
    wasHeading = isHeading
  }
  return text
}

async function titleOf(document: Awaited<ReturnType<typeof getDocumentProxy>>): Promise<string> {
  const found = await document.getMetadata().catch(() => undefined)
  const info: unknown = found?.info
  const title = typeof info === 'object' && info !== null && 'Title' in info ? info.Title : ''
  return typeof title === 'string' ? title.replace(/\s+/g, ' ').trim().slice(0, LONGEST_HEADING) : ''
}

function unreadable(error: unknown, page?: number): DocumentError {
  const encrypted = error instanceof Error && error.name === 'PasswordException'
  return new DocumentError(
    encrypted ? 'encrypted' : 'damaged',
    encrypted
      ? 'The PDF is encrypted: send it without a password.'
      : `The PDF cannot be read${page === undefined ? '' : ` at page ${page}`} (${messageOf(error)}).`,
    error,
  )
}
