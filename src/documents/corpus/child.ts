/**
 * Main module of a process that reads one file after another, as a text or cut into passages. Files are untrusted: the process has no
 * environment, receives files in messages, and is killed by its parent if it exceeds a time or memory limit.
 */
import { reasonOf } from '../../../base/errors.ts'
import { lowerPriority } from '../../../base/process.ts'
import { textsOf, type BlockDocument } from '../blocks/contract.ts'
import { createOcr } from '../blocks/ocr/engine.ts'
import { readBlocks } from '../blocks/read.ts'
import { OCR_STARTS } from '../contract.ts'
import { DocumentError } from '../errors.ts'
import { cutPassages, titleOf } from '../passages/cut.ts'
import { checkLength } from '../text.ts'
import type { ReadResult, ReadTask } from './process.ts'

async function resultOf({ name, words, ocr = '', ...file }: ReadTask): Promise<ReadResult> {
  try {
    const document = await readBlocks(file, ocr === '' ? undefined : createOcr(ocr, () => process.send?.(OCR_STARTS)))
    const { blocks, warnings = [] } = document
    const title = titleOf(document.title, blocks, name)
    const read = { type: file.type, warnings: [...warnings] }
    const { text, pages } = words === undefined ? renderBlocks(document) : { text: '', pages: [] }
    const passages = words === undefined ? [] : [...cutPassages({ title, blocks }, words)]
    checkLength(passages.reduce((sum, passage) => sum + passage.text.length, text.length))
    if (passages.length === 0 && text.trim() === '') throw new DocumentError('without_text', 'The document has no text.')
    return words === undefined ? { ...read, title, text, pages: [...pages] } : { ...read, passages }
  } catch (error) {
    const { problem, message } =
      error instanceof DocumentError ? error : new DocumentError('damaged', `The file cannot be read (${reasonOf(error)}).`, error)
    return { problem, message }
  }
}

/** Renders a document as one text with Markdown headings, and where its pages begin in it. */
function renderBlocks({ blocks, pages = 0 }: BlockDocument): { readonly text: string; readonly pages: readonly number[] } {
  const starts: number[] = []
  let text = ''
  for (const block of blocks) {
    const mark = block.kind === 'heading' ? `${'#'.repeat(Math.max(1, block.level))} ` : ''
    const { page = 0, breaks = [] } = block
    // A page without text begins where the next one does.
    while (starts.length < page) starts.push(text.length)
    for (const { at, page } of breaks) while (starts.length < page) starts.push(text.length + mark.length + at)
    text += `${mark}${textsOf(block).join('\n')}\n\n`
  }
  while (starts.length < pages) starts.push(text.length)
  return { text, pages: starts }
}

lowerPriority()
process.on('disconnect', () => process.exit(0))
process.on('SIGINT', () => undefined)
process.on('SIGTERM', () => undefined)
process.on('message', (task: ReadTask) => {
  // Does not exit: the parent kills this process once it has the result, and could miss one sent while exiting.
  void resultOf(task).then((result) => process.send?.(result, undefined, undefined, () => undefined))
})
