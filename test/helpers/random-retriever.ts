import path from 'node:path'
import { f16ToF32, f32ToF16 } from '../../base/binary16.ts'
import { parseConfig } from '../../models/checkpoint/config-parse.ts'
import { expectedTensors } from '../../models/checkpoint/rename.ts'
import { passageText, type Passage } from '../../index/contract.ts'
import { modelId } from '../../models/manifest.ts'
import type { Embedder } from '../../src/inference/contract.ts'
import { buildWithWords } from './built-fixture.ts'
import { CONTRIEVER_CONFIG, writeFolder } from './checkpoint-folder.ts'
import { f32Safetensors } from './weights.ts'

const VOCABULARY = 80

/** Numbers of -1 to 1, the same every time (Lehmer). */
function numbers(seed: number): () => number {
  let state = seed * 7919 + 17
  return () => (state = (state * 48_271) % 2_147_483_647) / 1_073_741_823.5 - 1
}

/**
 * Builds a retriever with random weights over the words w0, w1, ...: each seed is another model, of the same shape.
 * @param hidden numbers of a vector
 * @returns the built model's folder
 */
export async function randomRetriever(dir: string, { seed, hidden = 32 }: { seed: number; hidden?: number }): Promise<string> {
  const next = numbers(seed)
  const config = { ...CONTRIEVER_CONFIG, vocab_size: VOCABULARY, hidden_size: hidden, intermediate_size: 16, max_position_embeddings: 40 }
  const tensors = [...expectedTensors(parseConfig(config))].map(([name, shape]) => {
    const size = shape.reduce((a, b) => a * b, 1)
    const value = name.includes('LayerNorm') ? () => (name.endsWith('weight') ? 1 : 0) : next
    return [name, { shape, values: Array.from({ length: size }, value) }] as const
  })
  const name = `retriever-${seed}`
  const checkpoint = writeFolder(path.join(dir, `${name}-checkpoint`), {
    'config.json': config,
    'model.safetensors': f32Safetensors(Object.fromEntries(tensors)),
  })
  return buildWithWords(checkpoint, path.join(dir, name), 'f32')
}

/** A text of these words. */
export function randomText(seed: number, words: number): string {
  const next = numbers(seed + 1000)
  return Array.from({ length: words }, () => `w${Math.floor(((next() + 1) / 2) * (VOCABULARY - 2))}`).join(' ')
}

/** What a dense search must find with one retriever. */
export interface Expected {
  readonly model: string
  /** Ids of the k nearest passages of each question. */
  readonly ids: readonly (readonly string[])[]
}

export interface Asked {
  readonly questions: readonly string[]
  /** By retriever. */
  readonly expected: readonly Expected[]
}

/** Differences of scores that rounding does not turn round. */
const CLEAR = 1e-3

/**
 * Questions, and what a search for them must find, worked out from the retrievers alone by comparing all passages. Passages' vectors are in
 * half precision; questions whose order hangs on rounding are left out.
 */
export async function askedOf(
  embedders: readonly Embedder[],
  { passages, count, k }: { passages: readonly Passage[]; count: number; k: number },
): Promise<Asked> {
  const candidates = Array.from({ length: 4 * count }, (_, i) => randomText(9000 + i, 4))
  const ranked: { readonly model: string; readonly hits: readonly (readonly string[] | undefined)[] }[] = []
  for (const embedder of embedders) {
    const vectors = (texts: readonly string[]) => embedder.embed(texts, { priority: 'bulk' })
    const rows = (await vectors(passages.map(passageText))).map((vector) => f16ToF32(f32ToF16(vector)))
    const hits = (await vectors(candidates)).map((question) => nearest(question, rows, k)?.map((at) => passages[at]?.id ?? ''))
    ranked.push({ model: modelId(embedder.manifest), hits })
  }
  const clear = [...candidates.keys()].filter((i) => ranked.every(({ hits }) => hits[i] !== undefined)).slice(0, count)
  if (clear.length < count) throw new Error(`${clear.length} clear questions`)
  return {
    questions: clear.map((i) => candidates[i] ?? ''),
    expected: ranked.map(({ model, hits }) => ({ model, ids: clear.map((i) => hits[i] ?? []) })),
  }
}

/** Indices of the k nearest rows; undefined where their order is not clear. */
function nearest(question: Float32Array, rows: readonly Float32Array[], k: number): number[] | undefined {
  const scored = rows.map((row, at) => ({ at, score: row.reduce((sum, value, i) => sum + value * (question[i] ?? 0), 0) }))
  const best = scored.sort((a, b) => b.score - a.score).slice(0, k + 1)
  const scale = Math.max(...best.map(({ score }) => Math.abs(score)))
  const clear = best.every(({ score }, i) => i === 0 || (best[i - 1]?.score ?? 0) - score > CLEAR * scale)
  return clear ? best.slice(0, k).map(({ at }) => at) : undefined
}
