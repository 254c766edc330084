/** UTF-16 code units of a text; `start` inclusive, `end` exclusive. */
export interface SentenceSpan {
  readonly start: number
  readonly end: number
}

/** One locale on every machine: what a text is cut into does not depend on where it is read. */
const segmenter = new Intl.Segmenter('en', { granularity: 'sentence' })

/** UTF-16 units that the segmenter is given at once: each sentence costs it time in proportion to the text that it was given. */
const WINDOW = 1000

/**
 * Cuts a text (or its part between two places) into sentences by Unicode's rules (UAX 29), one at a time and in time linear
 * in the text. The sentences follow each other without gap, each with the space after it; a line's end always ends one.
 */
export function* sentencesIn(text: string, from = 0, to = text.length): Generator<SentenceSpan> {
  for (let start = from; start < to;) {
    const ends = nextEnds(text, start, to)
    for (const end of ends) {
      yield { start, end }
      start = end
    }
  }
}

/** Ends of one sentence from `start` on at least; of one only where two sentences are longer than the window. */
function nextEnds(text: string, start: number, to: number): number[] {
  for (let length = WINDOW; ; length *= 2) {
    const windowEnd = Math.min(to, start + length)
    const most = length === WINDOW ? Infinity : 1
    const ends = certainEnds(text.slice(start, windowEnd), windowEnd === to, most).map((end) => start + end)
    if (ends.length > 0) return ends
  }
}

/**
 * Ends of a window's first sentences that no text after the window can move: whether a full stop ends a sentence is settled
 * by the next letter, full stop or line end, and one of these stands before the end of the sentence that follows.
 * @param isLast the text ends with the window
 * @param most ends that are looked for
 */
function certainEnds(window: string, isLast: boolean, most: number): number[] {
  const ends: number[] = []
  for (const { segment, index } of segmenter.segment(window)) {
    ends.push(index + segment.length)
    if (ends.length >= most + 2) break
  }
  const isWhole = isLast && ends.at(-1) === window.length
  return ends.slice(0, isWhole ? undefined : -2).slice(0, most)
}
