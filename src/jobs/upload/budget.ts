import { CodedError } from '../../../base/errors.ts'
import { RATIO_FROM } from '../../../index/read/contract.ts'

/** Entries (files, folders and links), expanded bytes of an upload's files, and ratio to compressed bytes beyond 64 MiB, at most. */
type ArchiveLimits = Readonly<Record<'entries' | 'bytes' | 'ratio', number>>

/** Remaining limits of expanding an archive. Counts actual bytes, not the declared sizes. */
export class ArchiveBudget {
  readonly #limits: ArchiveLimits
  readonly #archiveBytes: number
  #entries = 0
  #bytes = 0

  constructor(limits: ArchiveLimits, archiveBytes: number) {
    this.#limits = limits
    this.#archiveBytes = archiveBytes
  }

  /** Bytes expanded so far. */
  get bytes(): number {
    return this.#bytes
  }

  /** Counts entries, before they are read where their number is known. @throws payload_too_large */
  entries(count: number): void {
    if ((this.#entries += count) > this.#limits.entries) throw tooLarge(`has more than ${this.#limits.entries} entries`)
  }

  /** @throws payload_too_large */
  async *expanding(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    const { bytes, ratio } = this.#limits
    for await (const chunk of chunks) {
      this.#bytes += chunk.length
      if (this.#bytes > bytes) throw tooLarge(`expands to more than ${bytes} bytes (CEPE_UPLOAD_LIMIT_MB)`)
      if (this.#bytes > RATIO_FROM && this.#bytes > this.#archiveBytes * ratio)
        throw tooLarge(`expands to more than ${ratio} times its size`)
      yield chunk
    }
  }
}

function tooLarge(problem: string): CodedError {
  return new CodedError('payload_too_large', `The archive ${problem}: send its files in several.`, { field: 'file' })
}

/** Forwards a stream up to a number of bytes. @throws payload_too_large beyond it */
export async function* limitBytes(bytes: AsyncIterable<Buffer>, most: number): AsyncGenerator<Buffer> {
  let total = 0
  for await (const chunk of bytes) {
    total += chunk.length
    if (total > most) {
      const message = `The upload has more than ${most} bytes: put the file into the import folder and name it.`
      throw new CodedError('payload_too_large', message, { field: 'body' })
    }
    yield chunk
  }
}
