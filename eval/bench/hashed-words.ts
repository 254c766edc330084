import { createHash } from 'node:crypto'
import type { EmbeddingModel } from '../../index/contract.ts'
import type { ContrieverManifest } from '../../models/manifest.ts'

/**
 * An embedding that needs no model: words hashed into 32 numbers, normalised. Deterministic, and similar texts get similar
 * vectors; for crash tests and tests of the index, where what matters is that every passage arrives once.
 */
export const hashedWords: EmbeddingModel = { id: 'hashed-words-32', dimension: 32 }

/** What the service would know of it, were it a built retriever. */
export const hashedWordsManifest: ContrieverManifest = {
  builder_version: 1,
  built_at: '',
  dtype: 'f32',
  opset: 21,
  source: { name: hashedWords.id, revision: '0'.repeat(64) },
  files: [],
  parameters: 0,
  architecture: 'contriever',
  graphs: { embed: '' },
  dims: { vocab_size: 1, hidden_size: hashedWords.dimension, layers: 0, heads: 0, window: 512 },
  tokens: { cls_id: null, sep_id: null, pad_id: 0 },
}

export function embedWords(text: string): Float32Array {
  const { dimension } = hashedWords
  const vector = new Float32Array(dimension)
  const add = (at: number, value: number): void => {
    vector[at % dimension] = (vector[at % dimension] as number) + value
  }
  for (const word of text
    .toLowerCase()
    .split(/\W+/)
    .filter((part) => part !== '')) {
    const digest = createHash('sha256').update(word).digest()
    add(digest.readUInt32LE(0), digest.readUInt8(4) % 2 === 0 ? 1 : -1)
    add(digest.readUInt32LE(8), digest.readUInt8(12) % 2 === 0 ? 0.5 : -0.5)
  }
  const norm = Math.hypot(...vector) || 1
  return vector.map((value) => value / norm)
}
