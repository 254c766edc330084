import { at } from '../../base/at.ts'
import { sentencesOf } from '../../base/sentences.ts'
import { rankByWords } from './words.ts'

/** Sentences before and after the nearest one, of each part. */
const REACHES = [0, 1]

/**
 * The parts of a passage that are nearest to a question: the sentence that shares most words with it (BM25 among the passage's sentences),
 * alone and with the one before and after it. Parts that are the whole passage are omitted.
 */
export function nearestParts(question: string, text: string): string[] {
  const sentences = [...sentencesOf(text)]
  const [nearest] = rankByWords(
    question,
    sentences.map(({ start, end }) => text.slice(start, end)),
  )
  if (nearest === undefined) return []
  const last = sentences.length - 1
  const parts = REACHES.map((reach) =>
    text.slice(at(sentences, Math.max(0, nearest.index - reach)).start, at(sentences, Math.min(last, nearest.index + reach)).end).trim(),
  )
  return [...new Set(parts)].filter((part) => part !== text.trim())
}
