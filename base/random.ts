import { createHash } from 'node:crypto'

/** Uniform numbers in [0, 1). */
export type Random = () => number

/** A generator of its arguments alone (mulberry32 of their SHA-256): draws for one question do not depend on earlier ones. */
export function seededRandom(...parts: readonly (string | number)[]): Random {
  return mulberry32(createHash('sha256').update(JSON.stringify(parts)).digest().readUInt32LE(0))
}

/** Mulberry32 (T. Ettinger): numbers from 0 up to 1, from a state of 32 bits. */
export function mulberry32(seed: number): Random {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** `count` distinct indices below `size` in random order; all of them if `count` is larger. */
export function sampleIndices(size: number, count: number, random: Random): number[] {
  const wanted = Math.min(size, count)
  // Fisher-Yates over a sparse array: only swapped elements are stored, so that two of 80,000 cost two steps.
  const moved = new Map<number, number>()
  return Array.from({ length: wanted }, (_, i) => {
    const j = i + Math.floor(random() * (size - i))
    const drawn = moved.get(j) ?? j
    moved.set(j, moved.get(i) ?? i)
    return drawn
  })
}
