import { sentencesIn } from '../../base/sentences.ts'

/** A part of a text in UTF-16 code units; `start` inclusive, `end` exclusive. */
export interface Span {
  readonly start: number
  readonly end: number
}

/** The sentences of a text, lazily, each without trailing space. */
export function* sentencesOf(text: string): Generator<Span> {
  for (const { start, end } of sentencesIn(text)) yield { start, end: start + text.slice(start, end).trimEnd().length }
}
