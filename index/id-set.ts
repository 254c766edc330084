import { createHash } from 'node:crypto'

/**
 * Set of ids that holds 8 bytes per entry (at most 32 with slack), so that 21 million of them fit in memory.
 * Ids are told apart by 64 bits of SHA-256: among 21 million the chance of one false match is about 1 in 100,000.
 */
export class IdSet {
  #slots = new BigUint64Array(1 << 10)
  #size = 0

  get size(): number {
    return this.#size
  }

  /** Adds an id; false if it was there. */
  add(id: string): boolean {
    if (this.#size * 2 >= this.#slots.length) this.#grow()
    const added = insert(this.#slots, keyOf(id))
    if (added) this.#size++
    return added
  }

  #grow(): void {
    const larger = new BigUint64Array(this.#slots.length * 2)
    for (const key of this.#slots) if (key !== 0n) insert(larger, key)
    this.#slots = larger
  }
}

/** Zero marks an empty slot. */
function keyOf(id: string): bigint {
  const key = createHash('sha256').update(id).digest().readBigUInt64LE(0)
  return key === 0n ? 1n : key
}

function insert(slots: BigUint64Array, key: bigint): boolean {
  const mask = slots.length - 1
  let at = Number(key & 0xffffffffn) & mask
  for (;;) {
    const held = slots[at]
    if (held === key) return false
    if (held === 0n) {
      slots[at] = key
      return true
    }
    at = (at + 1) & mask
  }
}
