/** Where a passage says the answer, in UTF-16 code units of its text; `start` inclusive, `end` exclusive. */
export interface Highlight {
  readonly start: number
  readonly end: number
  readonly sentence: { readonly start: number; readonly end: number }
}

/** Most places that are named in one passage. */
export const MOST_HIGHLIGHTS = 20

const words = /[\p{L}\p{N}\p{M}]+/gu
const sentences = new Intl.Segmenter(undefined, { granularity: 'sentence' })

interface Word {
  readonly plain: string
  readonly start: number
  readonly end: number
}

/** Words without case and accents, with their places. */
function wordsOf(text: string): Word[] {
  return Array.from(text.matchAll(words), ({ 0: word, index }) => ({
    plain: word.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase(),
    start: index,
    end: index + word.length,
  }))
}

/**
 * The places where the answer's words occur in a passage, one after the other, whatever their case, accents and punctuation,
 * each with the sentence around it. Articles at the answer's front do not count.
 */
export function highlights(text: string, answer: string): Highlight[] {
  const wanted = wordsOf(answer.replace(/^(?:the|an?)\s+(?=\S)/i, '')).map(({ plain }) => plain)
  const [first] = wanted
  if (first === undefined) return []
  const own = wordsOf(text)
  const found: Highlight[] = []
  for (let at = 0; at + wanted.length <= own.length && found.length < MOST_HIGHLIGHTS; at++) {
    const [from, to] = [own[at], own[at + wanted.length - 1]]
    if (from === undefined || to === undefined || !wanted.every((word, i) => own[at + i]?.plain === word)) continue
    found.push({ start: from.start, end: to.end, sentence: sentenceAround(text, from.start, to.end) })
  }
  return found
}

function sentenceAround(text: string, start: number, end: number): Highlight['sentence'] {
  const all = Array.from(sentences.segment(text), ({ segment, index }) => ({ start: index, end: index + segment.trimEnd().length }))
  const first = all.findLast((sentence) => sentence.start <= start)
  const last = all.find((sentence) => sentence.end >= end)
  return { start: first?.start ?? 0, end: last?.end ?? text.length }
}
