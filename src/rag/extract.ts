import { contentStems, plainWords, stemsOf } from '../text/stems.ts'
import { sentencesOf } from '../text/sentences.ts'
import type { Evidence, Extract } from './schema.ts'

/** Limits: passages searched, best first; sentences of each; characters of a sentence. */
const MOST_PASSAGES = 5
const MOST_SENTENCES = 60
const SENTENCE_CHARACTERS = 1000

/**
 * The sentence nearest to a question: the one that shares most of its words, title included; of equals, the first of the best passage.
 * @returns null if no passage has a sentence
 */
export function nearestSentence(question: string, passages: readonly Evidence[]): Extract | null {
  const wanted = new Set(contentStems(plainWords(question)))
  let best: { readonly extract: Extract; readonly shared: number } | undefined
  for (const { id, title, text } of passages.slice(0, MOST_PASSAGES)) {
    const named = stemsOf(title)
    let sentences = 0
    for (const { start, end } of sentencesOf(text)) {
      if (++sentences > MOST_SENTENCES) break
      const said = text.slice(start, Math.min(end, start + SENTENCE_CHARACTERS))
      const words = stemsOf(said)
      const shared = [...wanted].filter((word) => words.has(word)).length + [...wanted].filter((word) => named.has(word)).length / 2
      if (said !== '' && (best === undefined || shared > best.shared))
        best = { extract: { id, title, start, end: start + said.length, text: said }, shared }
    }
  }
  return best?.extract ?? null
}
