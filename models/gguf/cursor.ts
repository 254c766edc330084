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

  uint8(): number {
    return this.#bytes.readUInt8(this.#take(1))
  }
  int8(): number {
    return this.#bytes.readInt8(this.#take(1))
  }
  uint16(): number {
    return this.#bytes.readUInt16LE(this.#take(2))
  }
  int16(): number {
    return this.#bytes.readInt16LE(this.#take(2))
  }
  uint32(): number {
    return this.#bytes.readUInt32LE(this.#take(4))
  }
  int32(): number {
    return this.#bytes.readInt32LE(this.#take(4))
  }
  float32(): number {
    return this.#bytes.readFloatLE(this.#take(4))
  }
  float64(): number {
    return this.#bytes.readDoubleLE(this.#take(8))
  }
  /** Beyond 2^53 only approximate: larger than any file, so that checks fail as they should. */
  uint64(): number {
    return Number(this.#bytes.readBigUInt64LE(this.#take(8)))
  }
  int64(): number {
    return Number(this.#bytes.readBigInt64LE(this.#take(8)))
  }
  /** A 64-bit length, then UTF-8. */
  string(): string {
    const length = this.uint64()
    const at = this.#take(length)
    return this.#bytes.toString('utf8', at, at + length)
  }
}
