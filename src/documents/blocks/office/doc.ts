import WordExtractor from 'word-extractor'
import { messageOf } from '../../../../base/errors.ts'
import { DocumentError } from '../../errors.ts'
import type { BlockDocument } from '../contract.ts'
import { plainBlocks } from '../plain.ts'

/** A Word document of the format before DOCX: its text without formatting. @throws document_invalid */
export async function docDocument(bytes: Uint8Array): Promise<BlockDocument> {
  const document = await new WordExtractor().extract(Buffer.from(bytes)).catch((error: unknown) => {
    throw new DocumentError('damaged', `The file is no readable DOC (${messageOf(error)}): save it as DOCX.`, error)
  })
  const parts = [document.getBody(), document.getFootnotes(), document.getEndnotes(), document.getTextboxes()]
  // Each line is a paragraph.
  const text = parts.join('\n').replace(/\n/g, '\n\n')
  return {
    type: 'doc',
    title: '',
    blocks: plainBlocks(text),
    warnings: ['Headings and tables of DOC are read as plain text: save the file as DOCX to keep them.'],
  }
}
