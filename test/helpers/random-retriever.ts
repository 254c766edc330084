import path from 'node:path'
import { f16ToF32, f32ToF16 } from '../../base/binary16.ts'
import { parseConfig } from '../../models/checkpoint/config-parse.ts'
import { expectedTensors } from '../../models/checkpoint/rename.ts'
import type { Passage } from '../../index/contract.ts'
import { passageText } from '../../index/contract.ts'
import { modelId } from '../../models/manifest.ts'
import { createEmbedder } from '../../src/inference/pool/create-embedder.ts'
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

export interface Expected {
  readonly model: string
  readonly dimension: number
  /** Ids of the k nearest passages of each question, by comparing all. */
  readonly ids: readonly (readonly string[])[]
}

/** What a dense search must find, worked out from a retriever alone: its vectors, the passages' in half precision. */
export async function expectedHits(
  modelDir: string,
  { passages, questions, k }: { passages: readonly Passage[]; questions: readonly string[]; k: number },
): Promise<Expected> {
  const embedder = await createEmbedder({ modelDir })
  const embed = (texts: readonly string[]) => embedder.embed(texts, { priority: 'bulk' })
  try {
    const rows = (await embed(passages.map(passageText))).map((vector) => f16ToF32(f32ToF16(vector)))
    const ids = (await embed(questions)).map((question) =>
      rows
        .map((row, i) => ({ id: passages[i]?.id ?? '', score: row.reduce((sum, value, at) => sum + value * (question[at] ?? 0), 0) }))
        .sort((a, b) => b.score - a.score)
        .slice(0, k)
        .map(({ id }) => id),
    )
    return { model: modelId(embedder.manifest), dimension: embedder.manifest.dims.hidden_size, ids }
  } finally {
    await embedder.close({ drainMs: 0 })
  }
}
