/**
 * Main module of the process that reads one file. Files are untrusted: the process has no
 * environment, reads the file from a message, and is killed by its parent if it exceeds a time or memory limit.
 */
import { CodedError, messageOf } from '../../base/errors.ts'
import { lowerPriority } from '../../base/process.ts'
import type { ReadDocument } from './contract.ts'
import type { ParseTask, ParseResult } from './protocol.ts'

/** Loads only the libraries of the file's type. */
async function documentOf({ type, bytes, mediaType, limits }: ParseTask): Promise<ReadDocument> {
  if (type === 'pdf') return (await import('./pdf.ts')).readPdf(bytes, limits)
  if (type === 'html') return (await import('./html.ts')).readHtml(bytes, mediaType, limits)
  const [{ readBlocks }, { renderBlocks }] = await Promise.all([import('./blocks/read.ts'), import('./blocks/render.ts')])
  const { title, blocks } = await readBlocks({ type, bytes }, limits)
  return { type, title, text: renderBlocks(blocks), pages: [] }
}

async function read({ type, bytes, mediaType, limits }: ParseTask): Promise<ParseResult> {
  try {
    return { document: await documentOf({ type, bytes, mediaType, limits }) }
  } catch (error) {
    if (error instanceof CodedError) return { error: { code: error.code, message: error.message } }
    return { error: { code: 'document_invalid', message: `The file cannot be read (${messageOf(error)}).` } }
  }
}

lowerPriority()
process.on('disconnect', () => process.exit(0))
process.on('SIGINT', () => undefined)
process.on('SIGTERM', () => undefined)
process.once('message', (task: ParseTask) => {
  // Does not exit: the parent kills this process once it has the result, and could miss one sent while exiting.
  void read(task).then((result) => process.send?.(result, undefined, undefined, () => undefined))
})
