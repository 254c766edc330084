import type { DocumentLimits } from '../contract.ts'
import { DocumentError, NEEDS_OCR } from '../errors.ts'
import type { DocumentType } from '../type.ts'
import { readText } from '../text.ts'
import type { Block, BlockDocument } from './contract.ts'
import type { Ocr } from './ocr/engine.ts'

export interface TypedFile {
  readonly type: DocumentType
  readonly bytes: Uint8Array
  readonly mediaType?: string | undefined
  /** Encoding of a text that is not UTF-8 and declares none. */
  readonly encoding?: string | undefined
}

/** Parses a file into blocks. Runs in the isolated parser process. @throws as the parser of its type */
export async function readBlocks(file: TypedFile, limits: DocumentLimits, ocr?: Ocr): Promise<BlockDocument> {
  const { type, bytes } = file
  // Load each library on demand.
  switch (type) {
    case 'pdf':
      return (await import('./pdf.ts')).pdfDocument(bytes, limits, ocr)
    case 'image':
      if (ocr === undefined) throw new DocumentError('not_supported', NEEDS_OCR)
      return (await import('./picture.ts')).imageDocument(bytes, ocr)
    case 'docx':
      return (await import('./office/word.ts')).docxDocument(bytes)
    case 'doc':
      return (await import('./office/word.ts')).docDocument(bytes)
    case 'odt':
    case 'ods':
    case 'odp':
      return (await import('./office/odf.ts')).odfDocument(bytes, type)
    case 'xlsx':
      return (await import('./office/xlsx.ts')).xlsxDocument(bytes)
    case 'pptx':
      return (await import('./office/pptx.ts')).pptxDocument(bytes)
    case 'epub':
      return (await import('./epub.ts')).epubDocument(bytes)
    case 'email':
      return (await import('./texts/email-and-notebook.ts')).emailDocument(bytes)
    default:
      return textDocument(file, type, limits)
  }
}

/** Parses a text, of any encoding. */
async function textDocument(file: TypedFile, type: DocumentType, limits: DocumentLimits): Promise<BlockDocument> {
  const { text, warnings } = readText(type === 'html' ? file.bytes : bounded(file.bytes, limits), { ...file, isHtml: type === 'html' })
  const document = await parsed(text, type)
  return { ...document, type, warnings: [...warnings, ...(document.warnings ?? [])] }
}

/** Anchors and headings of AsciiDoc, which many projects keep in files that end with .txt. */
const ANCHOR = /^\[\[[\w-]+\]\]\s*$/m
const SECTION = /^={2,5} \S.*[^=\s]\s*$/gm
const LEAST_SECTIONS = 3

async function parsed(text: string, type: DocumentType): Promise<Omit<BlockDocument, 'type'>> {
  const untitled = (blocks: readonly Block[]) => ({ title: '', blocks })
  switch (type) {
    case 'html':
      return (await import('./markup/html.ts')).htmlDocument(text)
    case 'markdown':
      return (await import('./markup/markdown.ts')).markdownDocument(text)
    case 'notebook':
      return (await import('./texts/email-and-notebook.ts')).notebookDocument(text)
    case 'rst':
    case 'org':
    case 'asciidoc':
    case 'latex':
      return untitled((await import('./texts/lines.ts')).linesBlocks(text, type))
    case 'code':
    case 'log':
      return untitled((await import('./texts/source.ts')).sourceBlocks(text, type))
    case 'subtitles':
      return untitled((await import('./texts/source.ts')).subtitleBlocks(text))
    default:
      if (ANCHOR.test(text) && (text.match(SECTION)?.length ?? 0) >= LEAST_SECTIONS) return parsed(text, 'asciidoc')
      return untitled((await import('./texts/plain.ts')).plainBlocks(text))
  }
}

/** Maximum bytes per character in UTF-8 and UTF-16. */
const CHARACTER_BYTES = 4

/** Rejects text that is too long by its size in bytes, before decoding. @throws DocumentError */
function bounded(bytes: Uint8Array, { characters }: DocumentLimits): Uint8Array {
  const least = Math.ceil(bytes.length / CHARACTER_BYTES)
  if (least > characters)
    throw new DocumentError('too_large', `The document has more than ${least} characters; ${characters} are read at most.`)
  return bytes
}
