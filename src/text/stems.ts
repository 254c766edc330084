import { wordsOf } from './words.ts'

/** Letters per stem: endings differ between a question and the sentence that answers it. */
const STEM = 5
/** Stop words. */
const COMMON = new Set(
  'the a an of in is was what who which how did do does when where for to by on at and it its with from as many much that be are were s'.split(
    ' ',
  ),
)

/** The words of a text without case, accents and punctuation. */
export function plainWords(text: string): Set<string> {
  return new Set(wordsOf(text).map(({ plain }) => plain))
}

/** The stems of a text's words. */
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
