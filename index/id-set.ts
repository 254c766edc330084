import { createHash } from 'node:crypto'

/** Parts of the set: each grows by itself, so that no growth takes longer than a few milliseconds. */
const PARTS = 1024
/** Share of a part's slots in use above which it grows, and by how much. */
const FULL = 0.75
const GROWTH = 1.5

/**
 * Set of ids that holds 11 to 16 bytes per entry, so that 21 million of them fit in 0.35 GB.
 * Ids are told apart by 64 bits of SHA-256: among 21 million the chance of one false match is about 1 in 100,000.
 */
export class IdSet {
  readonly #parts = Array.from({ length: PARTS }, () => new Part())
  #size = 0

  get size(): number {
    return this.#size
  }

  /** Adds an id; false if it was there. */
  add(id: string): boolean {
    const digest = createHash('sha256').update(id).digest()
    const part = this.#parts[digest.readUInt16LE(8) % PARTS]
    // Zero in both halves marks an empty slot.
    const added = part?.add(digest.readUInt32LE(0), digest.readUInt32LE(4) || 1) ?? false
    if (added) this.#size++
    return added
  }
}

/** Open addressing over pairs of 32 bits. */
class Part {
  #slots = new Uint32Array(2 * 16)
  #used = 0

  add(low: number, high: number): boolean {
    if (this.#used + 1 > (this.#slots.length / 2) * FULL) this.#grow()
    const added = insert(this.#slots, low, high)
    if (added) this.#used++
    return added
  }

  #grow(): void {
    const larger = new Uint32Array(2 * Math.ceil((this.#slots.length / 2) * GROWTH))
    for (let at = 0; at < this.#slots.length; at += 2) {
      const high = this.#slots[at + 1]
      if (high !== undefined && high !== 0) insert(larger, this.#slots[at] as number, high)
    }
    this.#slots = larger
  }
}

/** The second number of a pair is never zero. */
function insert(slots: Uint32Array, low: number, high: number): boolean {
  const count = slots.length / 2
  for (let slot = low % count; ; slot = slot + 1 === count ? 0 : slot + 1) {
    const held = slots[2 * slot + 1]
    if (held === 0) {
      slots[2 * slot] = low
      slots[2 * slot + 1] = high
      return true
    }
    if (held === high && slots[2 * slot] === low) return false
  }
}
