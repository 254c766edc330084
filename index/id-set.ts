import { createHash } from 'node:crypto'
import { at, sum } from '../base/at.ts'

/** Number of partitions. Each grows by itself, so that no growth takes longer than a few milliseconds. */
const PARTS = 1024
/** Load factor above which a partition grows, and the growth factor. */
const FULL = 0.75
const GROWTH = 1.5

/** 64 bits of an id's SHA-256. */
interface Pair {
  readonly low: number
  /** Never zero: zero marks an empty slot. */
  readonly high: number
}

/**
 * Map from ids to numbers below 2^32, 16 to 24 bytes per entry (0.5 GB for 21 million). Ids are compared by 64 bits of SHA-256; among 21
 * million the chance of one false match is about 1 in 100,000.
 */
export class IdMap {
  readonly #parts: readonly Part[]

  /** @param width 2 to leave out the numbers */
  constructor(width: 2 | 3 = 3) {
    this.#parts = Array.from({ length: PARTS }, () => new Part(width))
  }

  /** Sets an id's number. Returns false and keeps the first number if the id has one. */
  add(id: string, value = 0): boolean {
    const { part, key } = this.#place(id)
    return part.add(key, value)
  }

  get(id: string): number | undefined {
    const { part, key } = this.#place(id)
    return part.get(key)
  }

  get size(): number {
    return sum(this.#parts.map(({ used }) => used))
  }

  #place(id: string): { readonly part: Part; readonly key: Pair } {
    const digest = createHash('sha256').update(id).digest()
    const key = { low: digest.readUInt32LE(0), high: digest.readUInt32LE(4) || 1 }
    return { part: at(this.#parts, digest.readUInt16LE(8) % PARTS), key }
  }
}

/** Set of ids with 11 to 16 bytes per entry: 21 million fit in 0.35 GB. Ids are compared as in `IdMap`. */
export class IdSet extends IdMap {
  constructor() {
    super(2)
  }
}

/** Open addressing over 32-bit slots: two per key and, with `width` 3, one for its value. */
class Part {
  #slots: Uint32Array
  used = 0

  constructor(private readonly width: 2 | 3) {
    this.#slots = new Uint32Array(width * 16)
  }

  add(pair: Pair, value: number): boolean {
    if (this.used + 1 > (this.#slots.length / this.width) * FULL) this.#grow()
    const slot = this.#find(this.#slots, pair)
    if (this.#slots[slot + 1] !== 0) return false
    this.#put(this.#slots, slot, pair, value)
    this.used++
    return true
  }

  get(pair: Pair): number | undefined {
    const slot = this.#find(this.#slots, pair)
    return this.#slots[slot + 1] === 0 ? undefined : this.#slots[slot + 2]
  }

  #grow(): void {
    const width = this.width
    const larger = new Uint32Array(width * Math.ceil((this.#slots.length / width) * GROWTH))
    for (let slot = 0; slot < this.#slots.length; slot += width) {
      const pair = { low: this.#slots[slot] as number, high: this.#slots[slot + 1] as number }
      if (pair.high !== 0) this.#put(larger, this.#find(larger, pair), pair, this.#slots[slot + 2] as number)
    }
    this.#slots = larger
  }

  #put(slots: Uint32Array, slot: number, { low, high }: Pair, value: number): void {
    slots[slot] = low
    slots[slot + 1] = high
    if (this.width === 3) slots[slot + 2] = value
  }

  /** Returns the slot of a key, or the empty slot where it would be inserted. */
  #find(slots: Uint32Array, { low, high }: Pair): number {
    const width = this.width
    for (let slot = (low % (slots.length / width)) * width; ; slot = slot + width === slots.length ? 0 : slot + width) {
      const held = slots[slot + 1]
      if (held === 0 || (held === high && slots[slot] === low)) return slot
    }
  }
}
