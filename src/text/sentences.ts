/** A part of a text in UTF-16 code units; `start` inclusive, `end` exclusive. */
export interface Span {
  readonly start: number
  readonly end: number
}

const segmenter = new Intl.Segmenter(undefined, { granularity: 'sentence' })

/** The sentences of a text, in order, each without the space after it. */
export function sentencesOf(text: string): Span[] {
  return Array.from(segmenter.segment(text), ({ segment, index }) => ({ start: index, end: index + segment.trimEnd().length }))
}
