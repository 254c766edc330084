import { open } from 'node:fs/promises'
import path from 'node:path'
import { appendLine } from '../../../base/durable.ts'
import { CodedError } from '../../../base/errors.ts'
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

  /** Appends a line, in order; durable when it resolves. @throws disk_full at the file's limit or on a full disk, internal */
  add(line: object): Promise<void> {
    const added = this.#last.then(() => this.#append(JSON.stringify(line)))
    this.#last = added.catch(() => undefined)
    return added
  }

  async #append(line: string): Promise<void> {
    await makeFolder(path.dirname(this.#file))
    const file = await open(this.#file, 'a+', MODE)
    try {
      if ((await file.stat()).size + Buffer.byteLength(line) >= this.#maxBytes)
        throw new CodedError('disk_full', 'The file of feedback is full: move it away (CEPE_FEEDBACK), or raise CEPE_FEEDBACK_MB.')
      await appendLine(file, line)
    } finally {
      await file.close()
    }
  }
}
