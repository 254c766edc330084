import { sentencesOf, type Span } from '../text/sentences.ts'
import { wordsOf } from '../text/words.ts'

/** Position of the answer in a passage. */
export interface Highlight extends Span {
  readonly sentence: Span
}

/** Limit of highlights per passage. */
const MOST_HIGHLIGHTS = 20

/**
 * Finds the answer's words, consecutive, in a passage, ignoring case, accents and punctuation, each match with its sentence. Leading
 * articles of the answer are ignored.
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
