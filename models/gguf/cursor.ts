/** Reads consecutive little-endian values. A read past the end throws `ended()` before anything is allocated. */
export class GgufCursor {
  #at = 0
  readonly #bytes: Buffer
  readonly #ended: () => Error

  constructor(bytes: Uint8Array, ended: () => Error) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    this.#ended = ended
  }

  /** Bytes read so far. */
  get at(): number {
    return this.#at
  }
  get left(): number {
    return this.#bytes.length - this.#at
  }

  #take(length: number): number {
    if (length > this.left) throw this.#ended()
    const at = this.#at
    this.#at += length
    return at
  }

  /** A number of so many bytes. 64-bit ones beyond 2^53 are approximate: larger than any file, so that checks fail as they should. */
  number(bytes: number, read: (buffer: Buffer, at: number) => number | bigint): number {
    return Number(read(this.#bytes, this.#take(bytes)))
  }
  uint32(): number {
    return this.number(4, (buffer, at) => buffer.readUInt32LE(at))
  }
  uint64(): number {
    return this.number(8, (buffer, at) => buffer.readBigUInt64LE(at))
  }
  /** A 64-bit length, then UTF-8. */
  string(): string {
    const length = this.uint64()
    const at = this.#take(length)
    return this.#bytes.toString('utf8', at, at + length)
  }
}
