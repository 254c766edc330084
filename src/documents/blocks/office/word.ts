import WordExtractor from 'word-extractor'
import path from 'node:path/posix'
import { at } from '../../../../base/at.ts'
import { reasonOf } from '../../../../base/errors.ts'
import { DocumentError } from '../../errors.ts'
import { type Block, type BlockDocument, inline, Unread } from '../contract.ts'
import { type GridRow, rowTexts } from '../markup/row-texts.ts'
import { plainBlocks } from '../texts/plain.ts'
import { madeBlocks } from '../markup/markup.ts'
import { elementsIn } from '../markup/tidy.ts'
import { elementsOf, parseXml, textIn } from '../markup/xml.ts'
import { chartXml } from './charts.ts'
import { Body, emptyFields, joinParagraphs } from './docx-body.ts'
import { NoteNumbers } from './docx-notes.ts'
import { Numbering, Styles } from './docx-styles.ts'
import { openOffice, partText } from './parts.ts'

/** Beginning of the main stream, where a sector begins; the place and bit of its flag for encryption ([MS-DOC], FibBase). */
const FIB = { sector: 512, magic: 0xa5ec, flags: 10, encrypted: 0x100 }
/** Name of the stream in which newer files are encrypted. */
const PACKAGE = Buffer.from('EncryptedPackage', 'utf16le')
/** Without it the library replaces dashes and quotation marks; its types lack the option. */
const AS_IS = { filterUnicode: false, includeBody: true, includeFooters: true }
/** Further lines of the cells of a row at most. */
const MOST_CELL_LINES = 50
type Part = 'Body' | 'Footnotes' | 'Endnotes' | 'Textboxes' | 'Headers' | 'Annotations'
type Parts = Readonly<Record<`get${Part}`, (options: typeof AS_IS) => string>>

/** A Word document of the format before DOCX: its paragraphs, and its tables by rows. @throws document_invalid (damaged, encrypted) */
export async function docDocument(bytes: Uint8Array): Promise<BlockDocument> {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (isEncrypted(file)) throw new DocumentError('encrypted', 'The DOC is encrypted: save it without a password.')
  const document: Parts = await new WordExtractor().extract(file).catch((error: unknown) => {
    throw new DocumentError('damaged', `The file is no readable DOC (${reasonOf(error)}): save it as DOCX.`, error)
  })
  const parts = [document.getBody(AS_IS), document.getFootnotes(AS_IS), document.getEndnotes(AS_IS), document.getTextboxes(AS_IS)]
  const unread = new Unread()
  for (const line of document.getHeaders(AS_IS).split('\n')) unread.addEdge(line)
  unread.add('comments', document.getAnnotations(AS_IS).match(/\S.*/g)?.length ?? 0)
  const lost =
    'Headings of DOC are read as plain text, raised digits as others, lists without numbers, forms without chosen values, hidden and struck text as the rest: save the file as DOCX to keep them.'
  return { title: '', blocks: parts.flatMap(partBlocks), warnings: [lost, ...unread.warnings] }
}

function isEncrypted(file: Buffer): boolean {
  for (let at = FIB.sector; at + FIB.sector <= file.length; at += FIB.sector)
    if (file.readUInt16LE(at) === FIB.magic) return (file.readUInt16LE(at + FIB.flags) & FIB.encrypted) !== 0
  return file.includes(PACKAGE)
}

/** Each line is a paragraph, or a row of cells with tabs between them. */
function partBlocks(part: string): Block[] {
  // The library writes optional hyphens as "undefined".
  const text = part.replace(/(?<=\p{L})undefined(?=\p{Ll})/gu, '').replaceAll('\u001e', '-')
  const blocks: Block[] = []
  const prose: string[] = []
  const rows: GridRow[] = []
  const end = (): void => {
    for (const one of plainBlocks(prose.splice(0).join('\n\n'), false)) blocks.push(one)
    if (rows.length > 0) blocks.push({ kind: 'table', rows: rowTexts(rows.splice(0)) })
  }
  for (const line of wholeRows(text.split('\n'))) {
    const cells = cellsOf(line).map((cell) => ({ text: inline(cell) }))
    const shown = cells.flatMap(({ text }) => (text === '' ? [] : [text]))
    const isRow = shown.length > 1
    if (isRow !== rows.length > 0 || cells.length > (rows[0]?.cells.length ?? Infinity)) end()
    // Which of its cells are merged is not known: it is one across the table, whose columns name none of them.
    const merged = rows[0]?.cells.map((_, i) => (i === 0 ? { text: shown.join('; ') } : { text: '', isRepeat: true }))
    if (isRow) rows.push({ cells: merged === undefined || merged.length === cells.length ? cells : merged, isHead: false })
    else prose.push(line)
  }
  end()
  return blocks
}

function cellsOf(line: string): string[] {
  return line.replace(/\t$/, '').split('\t')
}

/** Lines, of which those of one row are one: it has as many cells then as the row before or after it, and ends with a tab. */
function wholeRows(lines: readonly string[]): string[] {
  const whole: string[] = []
  for (let i = 0; i < lines.length; i++) {
    const line = at(lines, i)
    const isOpen = line.includes('\t') && !line.endsWith('\t')
    const count = isOpen ? lines.slice(i, i + MOST_CELL_LINES).findIndex((one) => one.endsWith('\t')) : 0
    const row = lines.slice(i, i + count + 1).join(' ')
    const isRow = [whole.at(-1), lines[i + count + 1]].some((one = '') => one.endsWith('\t') && cellsOf(one).length === cellsOf(row).length)
    whole.push(isRow ? row : line)
    if (isRow && count > 0) i += count
  }
  return whole
}

/** A Word document (DOCX). @throws document_invalid (damaged, encrypted), payload_too_large */
export async function docxDocument(bytes: Uint8Array): Promise<BlockDocument> {
  const { zip, main, related, title } = await openOffice(bytes, 'word/document.xml')
  const parts = new Map(related.map(({ type, part }) => [type, part]))
  const part = async (type: string): Promise<string> => partText(zip, parts.get(type) ?? path.join(path.dirname(main), `${type}.xml`))
  const { children } = parseXml(await zip.read(main))
  const fields = emptyFields(elementsIn(children))
  joinParagraphs(elementsIn(children))
  const noteNumbers = new NoteNumbers(await part('settings'), elementsIn(children))
  const charts = new Map<string, string>()
  for (const { id, type, part } of related) if (type === 'chart') charts.set(id, await chartXml(zip, part))
  const body = new Body({
    noteNumbers,
    charts,
    styles: new Styles(await part('styles')),
    numbering: new Numbering(await part('numbering')),
    notes: [...elementsOf(await part('footnotes'), 'footnote'), ...elementsOf(await part('endnotes'), 'endnote')],
  })
  const blocks = madeBlocks(body.read(children))
  body.unread.add('placeholders of empty fields', fields)
  body.unread.add('numbers of notes that begin anew on each page, which count on', noteNumbers.byPage)
  for (const { type, part } of related) {
    if (type !== 'header' && type !== 'footer') continue
    const inside = elementsIn(parseXml(await partText(zip, part)).children)
    // A watermark is a text along a path.
    for (const said of [textIn(inside.filter(({ name }) => name === 't')), ...inside.map(({ attribs: { string = '' } }) => string)])
      body.unread.addEdge(said)
  }
  return { title, blocks, warnings: body.unread.warnings }
}
