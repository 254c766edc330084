import type { Span } from './sentences.ts'

/** A normalised word with its position. */
export interface Word extends Span {
  readonly plain: string
}

const words = /[\p{L}\p{N}\p{M}]+/gu

/** The words of a text, in order, without case, accents and punctuation. */
export function wordsOf(text: string): Word[] {
  return Array.from(text.matchAll(words), ({ 0: word, index }) => ({
    plain: word.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase(),
    start: index,
    end: index + word.length,
  }))
}
