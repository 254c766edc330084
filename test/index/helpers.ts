import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { embedWords, hashedWords } from '../fixtures/hashed-words.ts'
import type { Embed, Passage } from '../../index/contract.ts'

export const hashEmbedding = hashedWords

export const embedText = embedWords

export const embed: Embed = (texts) => Promise.resolve(texts.map(embedWords))

export function dot(a: Float32Array, b: Float32Array): number {
  return a.reduce((sum, value, i) => sum + value * (b[i] ?? 0), 0)
}

export async function tempDir(t: Test): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'cepe-index-'))
  t.teardown(() => rm(dir, { recursive: true, force: true, maxRetries: 5 }))
  return dir
}

const WORDS =
  'amber basin cedar delta ember fjord grove harbor island jungle kelp lagoon meadow nectar oasis prairie quarry river summit tundra'.split(
    ' ',
  )

/** n different short passages, the same every time. */
export function somePassages(n: number, first = 0): Passage[] {
  return Array.from({ length: n }, (_, i) => {
    const at = first + i
    const word = (step: number): string => WORDS[(at * step + Math.floor(at / WORDS.length)) % WORDS.length] ?? ''
    return {
      id: `p${at}`,
      title: `Place ${at}`,
      text: `The ${word(1)} near the ${word(3)} and the ${word(7)}, number ${at}.`,
      source: at % 2 === 0 ? 'even.tsv' : 'odd.tsv',
    }
  })
}
