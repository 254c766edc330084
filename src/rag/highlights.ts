import { sentencesOf, type Span } from '../text/sentences.ts'
import { wordsOf } from '../text/words.ts'

/** Where a passage says the answer. */
export interface Highlight extends Span {
  readonly sentence: Span
}

/** Most places that are named in one passage. */
export const MOST_HIGHLIGHTS = 20

/**
 * The places where the answer's words occur in a passage, one after the other, whatever their case, accents and punctuation,
 * each with the sentence around it. Articles at the answer's front do not count.
 */
export function highlights(text: string, answer: string): Highlight[] {
  const wanted = wordsOf(answer.replace(/^(?:the|an?)\s+(?=\S)/i, '')).map(({ plain }) => plain)
  const [first] = wanted
  if (first === undefined) return []
  const own = wordsOf(text)
  let sentences: Span[] | undefined
  const found: Highlight[] = []
  for (let at = 0; at + wanted.length <= own.length && found.length < MOST_HIGHLIGHTS; at++) {
    const [from, to] = [own[at], own[at + wanted.length - 1]]
    if (from === undefined || to === undefined || !wanted.every((word, i) => own[at + i]?.plain === word)) continue
    found.push({ start: from.start, end: to.end, sentence: sentenceAround((sentences ??= [...sentencesOf(text)]), from.start, to.end) })
  }
  return found
}

function sentenceAround(sentences: readonly Span[], start: number, end: number): Span {
  const first = sentences.findLast((sentence) => sentence.start <= start)
  const last = sentences.find((sentence) => sentence.end >= end)
  return { start: first?.start ?? 0, end: last?.end ?? end }
}
