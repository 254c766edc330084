import { at } from '../../../base/at.ts'
import type { ReaderClient } from '../../client/reader.ts'
import type { ScoredText } from './score.ts'

/** Tokens of the decoder's text to compare contexts with. */
const QUERY_TOKENS = 256

/** Dot product of Contriever's embeddings of each context and of the beginning of the decoder's text. */
export async function retrievalScores({ contextIds, ids }: ScoredText, client: ReaderClient): Promise<number[]> {
  const { tokenizer } = client
  const [query, ...contexts] = await client.embed([
    tokenizer.decode(ids.slice(0, QUERY_TOKENS)),
    ...contextIds.map((context) => tokenizer.decode(context)),
  ])
  return contexts.map((context) => dot(query ?? new Float32Array(0), context))
}

export function dot(a: Float32Array, b: Float32Array): number {
  let sum = 0
  for (let i = 0; i < a.length; i++) sum += (a[i] as number) * (b[i] as number)
  return sum
}

/** Indices and dot products of the `k` nearest vectors, best first. */
export function nearest(
  query: Float32Array,
  vectors: readonly Float32Array[],
  k: number,
): { readonly index: number; readonly score: number }[] {
  return vectors
    .map((_, index) => ({ index, score: dot(query, at(vectors, index)) }))
    .sort((a, b) => b.score - a.score || a.index - b.index)
    .slice(0, k)
}
