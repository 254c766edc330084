/**
 * Main module of a process that cuts one file after another into passages. Files are untrusted: the process has no
 * environment, receives files in messages, and is killed by its parent if it exceeds a time or memory limit.
 */
import { messageOf } from '../../../base/errors.ts'
import { lowerPriority } from '../../../base/process.ts'
import { readBlocks } from '../blocks/read.ts'
import { DocumentError } from '../errors.ts'
import { cutPassages } from '../passages/cut.ts'
import { titleOf } from '../passages/sections.ts'
import type { PassageTask, PassageResult } from './protocol.ts'

async function passagesOf({ name, words, limits, ...file }: PassageTask): Promise<PassageResult> {
  try {
    const { type, title, blocks } = await readBlocks(file, limits)
    const passages = [...cutPassages({ title: titleOf(title, blocks, name), blocks }, words)]
    const characters = passages.reduce((sum, { text }) => sum + text.length, 0)
    if (characters > limits.characters)
      throw new DocumentError('too_large', `The document has ${characters} characters of text; ${limits.characters} are read at most.`)
    if (passages.length === 0) throw new DocumentError('without_text', 'The document has no text.')
    return { type, passages }
  } catch (error) {
    const known =
      error instanceof DocumentError ? error : new DocumentError('damaged', `The file cannot be read (${messageOf(error)}).`, error)
    return { problem: known.problem, code: known.code, message: known.message }
  }
}

lowerPriority()
process.on('disconnect', () => process.exit(0))
process.on('SIGINT', () => undefined)
process.on('SIGTERM', () => undefined)
process.on('message', (task: PassageTask) => {
  void passagesOf(task).then((result) => process.send?.(result, undefined, undefined, () => undefined))
})
