import type { Span } from './sentences.ts'

/** A normalised word with its position. */
export interface Word extends Span {
  readonly plain: string
}

const words = /[\p{L}\p{N}\p{M}]+/gu
const asciiWords = /[A-Za-z0-9]+/g

/** The words of a text, in order, without case, accents and punctuation. */
export function wordsOf(text: string): Word[] {
  // Properties of Unicode, and taking accents off, cost twice as much as what most texts need.
  const isAscii = !/[^\0-\x7f]/.test(text)
  return Array.from(text.matchAll(isAscii ? asciiWords : words), ({ 0: word, index }) => ({
    plain: isAscii ? word.toLowerCase() : word.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase(),
    start: index,
    end: index + word.length,
  }))
}
