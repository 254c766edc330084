import type { Span } from '../../base/sentences.ts'

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

/** Letters per stem: endings differ between a question and the sentence that answers it. */
const STEM = 5
const COMMON = new Set(
  'the a an of in is was what who which how did do does when where for to by on at and it its with from as many much that be are were s'.split(
    ' ',
  ),
)

/** The words of a text without case, accents and punctuation. */
export function plainWords(text: string): Set<string> {
  return new Set(wordsOf(text).map(({ plain }) => plain))
}

export function stemsOf(text: string): Set<string> {
  return new Set([...plainWords(text)].map(stem))
}

/** The stems of content words. */
export function contentStems(words: Iterable<string>): string[] {
  return [...words].filter((word) => !COMMON.has(word)).map(stem)
}

function stem(word: string): string {
  return word.slice(0, STEM)
}
