import type { DocumentLimits, DocumentType } from '../contract.ts'
import { DocumentError } from '../errors.ts'
import type { BlockDocument } from './contract.ts'

/** A file whose kind is known. */
export interface TypedFile {
  readonly type: DocumentType
  readonly bytes: Uint8Array
  readonly mediaType?: string | undefined
}

/** Reads a file into its parts. For the process that reads files: whatever a file does, it does to that one. @throws as its kind's reader */
export async function readBlocks({ type, bytes, mediaType }: TypedFile, limits: DocumentLimits): Promise<BlockDocument> {
  // Each library is loaded where it is needed.
  switch (type) {
    case 'pdf':
      return (await import('./pdf.ts')).pdfDocument(bytes, limits)
    case 'docx':
      return (await import('./docx.ts')).docxDocument(bytes)
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

/** Bytes of a character at most, in UTF-8 and UTF-16. */
const CHARACTER_BYTES = 4

/** Text whose size alone says that it is too long is not looked at. @throws DocumentError */
function bounded(bytes: Uint8Array, { characters }: DocumentLimits): Uint8Array {
  const least = Math.ceil(bytes.length / CHARACTER_BYTES)
  if (least > characters)
    throw new DocumentError('too_large', `The document has more than ${least} characters; ${characters} are read at most.`)
  return bytes
}
