import { OCR_LIMITS } from '../contract.ts'
import { DocumentError } from '../errors.ts'
import type { BlockDocument } from './contract.ts'
import { textLines } from './pdf-lines.ts'
import { pagesDocument } from './pdf.ts'
import { NO_TEXT, type Ocr } from './ocr/engine.ts'

/** A picture: its recognised text; of a TIFF that of every page. Memory limits its size. @throws document_invalid, document_without_text */
export async function imageDocument(bytes: Uint8Array, ocr: Ocr): Promise<BlockDocument> {
  const file = Buffer.from(bytes)
  const selects = /^(?:II\*\0|MM\0\*)/.test(file.toString('latin1', 0, 4)) ? tiffPages(file) : [() => undefined]
  const numbers = selects.map((_, i) => i + 1)
  const { texts, warnings } = await ocr(numbers, (page) => {
    selects[page - 1]?.()
    return Promise.resolve(file)
  })
  const isBlank = warnings.every((warning) => warning.includes(NO_TEXT))
  if (texts.size === 0)
    throw new DocumentError(isBlank ? 'without_text' : 'damaged', `No text of the picture was read. ${warnings.join(' ')}`)
  const pages = selects.map((_, i) => textLines(texts.get(i + 1) ?? '', i + 1))
  return pagesDocument({ pages, title: '', warnings })
}

/** For each page of a TIFF, a function that makes it the first, which alone is recognised. */
function tiffPages(file: Buffer): (() => void)[] {
  const isLittle = file[0] === 0x49
  const u32 = (at: number): number => (isLittle ? file.readUInt32LE(at) : file.readUInt32BE(at))
  const starts = new Set<number>()
  try {
    for (let start = u32(4); start !== 0 && !starts.has(start) && starts.size <= OCR_LIMITS.pages;) {
      starts.add(start)
      start = u32(start + 2 + 12 * (isLittle ? file.readUInt16LE(start) : file.readUInt16BE(start)))
    }
  } catch (error) {
    throw new DocumentError('damaged', 'The TIFF is damaged: its list of pages is incomplete.', error)
  }
  return [...starts].map((start) => () => void (isLittle ? file.writeUInt32LE(start, 4) : file.writeUInt32BE(start, 4)))
}
