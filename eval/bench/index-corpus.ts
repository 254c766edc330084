import type { ReadItem } from '../../index/read/contract.ts'
import type { Embed, Passage } from '../../index/contract.ts'
import { uniform } from './synthetic-checkpoint.ts'

export const DIMENSION = 768

/** Length of Contriever's vectors, about. */
const NORM = 1.5
const ROWS_PER_CLUSTER = 200
const SPREAD = 0.7
const NOISE = 1 << 20
const WORDS = 100

const noise = (() => {
  const next = uniform(7)
  return Float32Array.from({ length: NOISE }, () => 2 * next() - 1)
})()

/** Different for every number, evenly spread (Knuth's multiplicative hash). */
function scatter(n: number): number {
  return Math.imul(n + 1, 2_654_435_761) >>> 0
}

function fill(out: Float32Array, seed: number, weight: number): void {
  let at = scatter(seed) % NOISE
  for (let i = 0; i < out.length; i++) {
    out[i] = (out[i] as number) + weight * (noise[at] as number)
    at = at + 1 === NOISE ? 0 : at + 1
  }
}

/** The vector of a passage, or, with numbers past the corpus, of a question: a cluster's centre and noise. */
export function clusteredVector(number: number, rows: number, dimension = DIMENSION): Float32Array {
  const clusters = Math.max(1, Math.floor(rows / ROWS_PER_CLUSTER))
  const vector = new Float32Array(dimension)
  fill(vector, 1_000_000_007 + (scatter(number) % clusters), 1)
  fill(vector, number, SPREAD)
  let squares = 0
  for (const value of vector) squares += value * value
  const scale = NORM / Math.sqrt(squares)
  return vector.map((value) => value * scale)
}

/** A vector of no cost: a window of the noise. Different for most numbers. */
export function noiseVector(number: number, dimension: number): Float32Array {
  const from = scatter(number) % (NOISE - dimension)
  return noise.subarray(from, from + dimension)
}

const VOCABULARY = 20_000

/** A passage of a hundred words of Zipf-like frequency, the same for the same number. */
export function syntheticPassage(number: number): Passage {
  const next = uniform(number + 1)
  const words = Array.from({ length: WORDS }, () => `w${Math.floor(VOCABULARY ** next()).toString(36)}`)
  return {
    id: String(number),
    title: `Title ${Math.floor(number / 20)}`,
    text: `#${number} ${words.join(' ')}`,
    source: `part${Math.floor(number / 20_000)}.tsv`,
  }
}

/** @param first number of the first passage. */
export async function* syntheticItems(rows: number, first = 0): AsyncGenerator<ReadItem> {
  for (let number = 0; number < rows; number++) {
    // The event loop gets its turns, as when a file is read.
    if (number % 256 === 0) await new Promise((resolve) => setImmediate(resolve))
    yield { line: number + 1, passage: syntheticPassage(first + number) }
  }
}

/** Stands for a model of no cost: the text says which vector it has. */
export function lookupEmbed(rows: number): Embed {
  return async (texts) => {
    await new Promise((resolve) => setImmediate(resolve))
    return texts.map((text) => clusteredVector(Number(/#(\d+)/.exec(text)?.[1]), rows))
  }
}
