import type { DocumentLimits, DocumentType } from '../contract.ts'
import { DocumentError } from '../errors.ts'
import type { BlockDocument } from './contract.ts'

/** A file of known type. */
export interface TypedFile {
  readonly type: DocumentType
  readonly bytes: Uint8Array
  readonly mediaType?: string | undefined
}

/** Parses a file into blocks. Runs in the isolated parser process. @throws as the parser of its type */
export async function readBlocks({ type, bytes, mediaType }: TypedFile, limits: DocumentLimits): Promise<BlockDocument> {
  // Load each library on demand.
  switch (type) {
    case 'pdf':
      return (await import('./pdf.ts')).pdfDocument(bytes, limits)
    case 'docx':
      return (await import('./docx/docx.ts')).docxDocument(bytes)
    case 'epub':
      return (await import('./epub.ts')).epubDocument(bytes)
    case 'html':
      return (await import('./html.ts')).htmlDocument(bytes, mediaType)
    case 'markdown':
      return (await import('./markdown.ts')).markdownDocument(bounded(bytes, limits), mediaType)
    case 'text':
      return (await import('./plain.ts')).plainDocument(bounded(bytes, limits), mediaType)
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
