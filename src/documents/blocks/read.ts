import { DocumentError, NEEDS_OCR } from '../errors.ts'
import type { DocumentFile, DocumentType } from '../type.ts'
import { checkLength, readText } from '../text.ts'
import type { Block, BlockDocument } from './contract.ts'
import type { Ocr } from './ocr/engine.ts'
import type { LinesType } from './texts/lines.ts'

export interface TypedFile extends Omit<DocumentFile, 'name'> {
  readonly type: DocumentType
}

/** Parsers of files that are no texts. Each loads its library on demand. */
const FILES: Partial<Record<DocumentType, (bytes: Uint8Array, ocr?: Ocr) => Promise<BlockDocument>>> = {
  pdf: async (bytes, ocr) => (await import('./pdf.ts')).pdfDocument(bytes, ocr),
  image: async (bytes, ocr) => {
    if (ocr === undefined) throw new DocumentError('not_supported', NEEDS_OCR)
    return (await import('./picture.ts')).imageDocument(bytes, ocr)
  },
  docx: async (bytes) => (await import('./office/word.ts')).docxDocument(bytes),
  doc: async (bytes) => (await import('./office/word.ts')).docDocument(bytes),
  odt: async (bytes) => (await import('./office/odf.ts')).odfDocument(bytes, 'odt'),
  ods: async (bytes) => (await import('./office/odf.ts')).odfDocument(bytes, 'ods'),
  odp: async (bytes) => (await import('./office/odf.ts')).odfDocument(bytes, 'odp'),
  xlsx: async (bytes) => (await import('./office/xlsx.ts')).xlsxDocument(bytes),
  pptx: async (bytes) => (await import('./office/pptx.ts')).pptxDocument(bytes),
  epub: async (bytes) => (await import('./epub.ts')).epubDocument(bytes),
  email: async (bytes) => (await import('./texts/email-and-notebook.ts')).emailDocument(bytes),
}

const untitled = (blocks: readonly Block[]): BlockDocument => ({ title: '', blocks })
const lines = (type: LinesType) => async (text: string) => (await import('./texts/lines.ts')).linesDocument(text, type)
/** Parsers of texts; others are plain. */
const TEXTS: Partial<Record<DocumentType, (text: string) => Promise<BlockDocument>>> = {
  html: async (text) => (await import('./markup/html.ts')).htmlDocument(text),
  markdown: async (text) => (await import('./markup/markdown.ts')).markdownDocument(text),
  notebook: async (text) => (await import('./texts/email-and-notebook.ts')).notebookDocument(text),
  rst: lines('rst'),
  org: lines('org'),
  asciidoc: lines('asciidoc'),
  latex: lines('latex'),
  code: async (text) => untitled((await import('./texts/source.ts')).sourceBlocks(text, 'code')),
  log: async (text) => untitled((await import('./texts/source.ts')).sourceBlocks(text, 'log')),
  subtitles: async (text) => untitled((await import('./texts/source.ts')).subtitleBlocks(text)),
}

/** Anchors and headings of AsciiDoc, which many projects keep in files that end with .txt. */
const ANCHOR = /^\[\[[\w-]+\]\]\s*$/m
const SECTION = /^={2,5} \S.*[^=\s]\s*$/gm
const LEAST_SECTIONS = 3

async function plainText(text: string): Promise<BlockDocument> {
  const isAsciidoc = ANCHOR.test(text) && (text.match(SECTION)?.length ?? 0) >= LEAST_SECTIONS
  return isAsciidoc ? lines('asciidoc')(text) : untitled((await import('./texts/plain.ts')).plainBlocks(text))
}

/** Parses a file into blocks. Runs in the isolated parser process. @throws as the parser of its type */
export async function readBlocks(file: TypedFile, ocr?: Ocr): Promise<BlockDocument> {
  const { type, bytes } = file
  const parse = FILES[type]
  if (parse !== undefined) return parse(bytes, ocr)
  const { text, warnings } = readText(bytes, { ...file, isHtml: type === 'html' })
  // The text of a page is much shorter than its file.
  if (type !== 'html') checkLength(text.length)
  const document = await (TEXTS[type] ?? plainText)(text)
  return { ...document, warnings: [...warnings, ...(document.warnings ?? [])] }
}
