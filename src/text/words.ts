import type { Span } from '../../base/sentences.ts'

/** A normalised word with its position. */
export interface Word extends Span {
  readonly plain: string
}

/** Scripts without spaces between words: each letter is taken for one. */
const UNSPACED = '(?=\\p{L})[\\p{scx=Han}\\p{scx=Hira}\\p{scx=Kana}\\p{scx=Thai}\\p{scx=Laoo}\\p{scx=Khmr}\\p{scx=Mymr}]'
const words = new RegExp(`${UNSPACED}\\p{M}*|(?:(?!${UNSPACED})[\\p{L}\\p{N}\\p{M}]\\u00ad?)+`, 'gu')
const asciiWords = /[A-Za-z0-9]+/g
/** A minus as texts have it. After a word it is a hyphen, and after a number, with its sign or a space, that of a range (5%-10%). */
export const MINUS = '(?<![\\p{L}\\p{N}%‰°]|\\p{N} )[-−‐‑–﹣－]\\p{Sc}?'
const endsInMinus = new RegExp(`${MINUS}$`, 'u')
/** What follows a word or number and changes its meaning: C++, F#, O−. */
const SUFFIX = /^[-−+#]+(?![\p{L}\p{N}])/u
const SUFFIX_OF_LETTERS = /(?<=\p{L})[+#]+(?![\p{L}\p{N}])/uy

/** The words of a text, in order, without case, accents, soft hyphens and punctuation. */
export function wordsOf(text: string): Word[] {
  // Properties of Unicode, and taking accents off, cost twice as much as what most texts need.
  const isAscii = !/[^\0-\x7f]/.test(text)
  return Array.from(text.matchAll(isAscii ? asciiWords : words), ({ 0: word, index }) => ({
    plain: isAscii
      ? word.toLowerCase()
      : word
          .normalize('NFD')
          .replace(/[\p{M}\u00ad]/gu, '')
          .toLowerCase(),
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

/** The words of a text: a negative number begins with its sign, written `-`, and letters end in theirs (C++). */
export function signedWords(text: string): Word[] {
  return wordsOf(text).map((word) => {
    const sign = /^\p{N}/u.test(word.plain) ? endsInMinus.exec(text.slice(Math.max(0, word.start - 4), word.start)) : null
    if (sign) return { plain: `-${word.plain}`, start: word.start - sign[0].length, end: word.end }
    SUFFIX_OF_LETTERS.lastIndex = word.end
    const suffix = SUFFIX_OF_LETTERS.exec(text)?.[0] ?? ''
    return suffix === '' ? word : { plain: word.plain + suffix, start: word.start, end: word.end + suffix.length }
  })
}

/** An answer for comparison with others: its words and signs, with single spaces; the text itself if it has no word. */
export function plainText(text: string): string {
  const said = signedWords(text).map(({ plain, end }) => plain + (SUFFIX.exec(text.slice(end, end + 4))?.[0].replaceAll('−', '-') ?? ''))
  return said.join(' ') || text.trim()
}

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

/** BM25's usual constants: how fast further occurrences lose weight, and how much of a text's length is made up for. */
const SATURATION = 1.2
const LENGTH_SHARE = 0.75

/**
 * Texts by the content words that they share with a question, best first, equal ones in order: BM25 (Robertson and Zaragoza 2009,
 * doi 10.1561/1500000019), its frequencies counted over these texts, words compared by stem.
 */
export function rankByWords(question: string, texts: readonly string[]) {
  const counted = texts.map(stemCounts)
  const mean = counted.reduce((sum, { length }) => sum + length, 0) / Math.max(1, counted.length)
  const weights = [...new Set(contentStems(plainWords(question)))].map((stem) => {
    const holding = counted.filter(({ counts }) => counts.has(stem)).length
    return [stem, Math.log(1 + (texts.length - holding + 0.5) / (holding + 0.5))] as const
  })
  const scoreOf = ({ counts, length }: ReturnType<typeof stemCounts>): number => {
    const damping = SATURATION * (1 - LENGTH_SHARE + (LENGTH_SHARE * length) / Math.max(1, mean))
    return weights.reduce((sum, [stem, weight]) => {
      const count = counts.get(stem) ?? 0
      return sum + (weight * count * (SATURATION + 1)) / (count + damping)
    }, 0)
  }
  return counted.map((text, index) => ({ index, score: scoreOf(text) })).sort((a, b) => b.score - a.score)
}

function stemCounts(text: string) {
  const counts = new Map<string, number>()
  const stems = contentStems(wordsOf(text).map(({ plain }) => plain))
  for (const stem of stems) counts.set(stem, (counts.get(stem) ?? 0) + 1)
  return { counts, length: stems.length }
}
