import { contentStems, plainWords, wordsOf } from '../words.ts'

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
