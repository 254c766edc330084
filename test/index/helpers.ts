import { createHash } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import type { Embed, EmbeddingModel, Passage } from '../../index/types.ts'

/** Bag of words hashed into 32 numbers: deterministic, and similar texts get similar vectors. */
export const hashEmbedding: EmbeddingModel = { id: 'hashed-words-32', dimension: 32 }

const embedOne = (text: string, dimension: number): Float32Array => {
  const vector = new Float32Array(dimension)
  for (const word of text.toLowerCase().split(/\W+/).filter((part) => part !== '')) {
    const digest = createHash('sha256').update(word).digest()
    const add = (at: number, value: number): void => {
      vector[at] = (vector[at] ?? 0) + value
    }
    add(digest.readUInt32LE(0) % dimension, (digest[4] ?? 0) % 2 === 0 ? 1 : -1)
    add(digest.readUInt32LE(8) % dimension, (digest[12] ?? 0) % 2 === 0 ? 0.5 : -0.5)
  }
  const norm = Math.hypot(...vector) || 1
  return vector.map((value) => value / norm)
}

export const embed: Embed = (texts) => Promise.resolve(texts.map((text) => embedOne(text, hashEmbedding.dimension)))

export const embedText = (text: string): Float32Array => embedOne(text, hashEmbedding.dimension)

export const dot = (a: Float32Array, b: Float32Array): number => a.reduce((sum, value, i) => sum + value * (b[i] ?? 0), 0)

export const tempDir = async (t: Test): Promise<string> => {
  const dir = await mkdtemp(join(tmpdir(), 'cepe-index-'))
  t.teardown(() => rm(dir, { recursive: true, force: true }))
  return dir
}

const WORDS = 'amber basin cedar delta ember fjord grove harbor island jungle kelp lagoon meadow nectar oasis prairie quarry river summit tundra'.split(' ')

/** n different short passages, the same every time. */
export const somePassages = (n: number, first = 0): Passage[] =>
  Array.from({ length: n }, (_, i) => {
    const at = first + i
    const word = (step: number): string => WORDS[(at * step + Math.floor(at / WORDS.length)) % WORDS.length] ?? ''
    return { id: `p${at}`, title: `Place ${at}`, text: `The ${word(1)} near the ${word(3)} and the ${word(7)}, number ${at}.`, source: at % 2 === 0 ? 'even.tsv' : 'odd.tsv' }
  })
