import { appendFile, stat } from 'node:fs/promises'
import path from 'node:path'
import { CodedError, messageOf, osCode } from '../../../base/errors.ts'
import { isDiskFull } from '../../../base/failures.ts'
import { makeFolder } from '../../../base/make-folder.ts'

/** File mode: questions and comments may be private. */
const MODE = 0o600

/** An append-only file of JSON lines with a size limit. */
export class FeedbackLog {
  readonly #file: string
  readonly #maxBytes: number
  #last: Promise<void> = Promise.resolve()

  constructor({ file, maxBytes }: { readonly file: string; readonly maxBytes: number }) {
    this.#file = file
    this.#maxBytes = maxBytes
  }

  /** Appends a line, in order. @throws disk_full at the file's limit or on a full disk, internal */
  add(line: object): Promise<void> {
    const added = this.#last.then(() => this.#append(`${JSON.stringify(line)}\n`))
    this.#last = added.catch(() => undefined)
    return added
  }

  async #append(line: string): Promise<void> {
    try {
      const { size } = await stat(this.#file).catch(absent)
      if (size + Buffer.byteLength(line) > this.#maxBytes)
        throw new CodedError('disk_full', 'The file of feedback is full: move it away (CEPE_FEEDBACK), or raise CEPE_FEEDBACK_MB.')
      await makeFolder(path.dirname(this.#file))
      await appendFile(this.#file, line, { mode: MODE })
    } catch (error) {
      if (error instanceof CodedError) throw error
      throw new CodedError(isDiskFull(error) ? 'disk_full' : 'internal', `Feedback cannot be kept: ${messageOf(error)}`, { cause: error })
    }
  }
}

function absent(error: unknown): { readonly size: number } {
  if (osCode(error) === 'ENOENT') return { size: 0 }
  throw error
}
