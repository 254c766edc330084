import { CodedError } from '../../../base/errors.ts'
import { RATIO_FROM } from '../../../index/read/contract.ts'
import type { ArchiveLimits } from './contract.ts'

/** What an archive may still expand to; counted by what comes out of it, not by what it says. */
export class ArchiveBudget {
  readonly #limits: ArchiveLimits
  readonly #archiveBytes: number
  #entries = 0
  #bytes = 0

  constructor(limits: ArchiveLimits, archiveBytes: number) {
    this.#limits = limits
    this.#archiveBytes = archiveBytes
  }

  /** Bytes that came out. */
  get bytes(): number {
    return this.#bytes
  }

  /** @throws payload_too_large */
  entry(): void {
    if (++this.#entries > this.#limits.entries) throw tooLarge(`has more than ${this.#limits.entries} entries`)
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
