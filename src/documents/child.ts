/**
 * Entry of the process that reads one file. What is in such a file is nobody's to trust: the process has no
 * environment, reads the file from a message, and is killed by its parent where it takes too long or too much memory.
 */
import { CodedError, messageOf } from '../../base/errors.ts'
import { lowerPriority } from '../../base/priority.ts'
import type { ReadDocument } from './contract.ts'
import type { ChildJob, ChildResult } from './protocol.ts'

/** The libraries of one kind are loaded, not those of all. */
async function documentOf({ type, bytes, mediaType, limits }: ChildJob): Promise<ReadDocument> {
  if (type === 'pdf') return (await import('./pdf.ts')).readPdf(bytes, limits)
  if (type === 'html') return (await import('./html.ts')).readHtml(bytes, mediaType, limits)
  const [{ readBlocks }, { renderBlocks }] = await Promise.all([import('./blocks/read.ts'), import('./blocks/render.ts')])
  const { title, blocks } = await readBlocks({ type, bytes }, limits)
  return { type, title, text: renderBlocks(blocks), pages: [] }
}

async function read({ type, bytes, mediaType, limits }: ChildJob): Promise<ChildResult> {
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
process.once('message', (job: ChildJob) => {
  // The parent ends this process when it has the result: it might miss one that is sent on the way out.
  void read(job).then((result) => process.send?.(result, undefined, undefined, () => undefined))
})
