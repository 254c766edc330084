import { at } from '../../../base/at.ts'
import type { Demonstration } from '../../../src/text/prompt.ts'
import { sameQuestion } from '../../datasets/read.ts'
import type { EvalPassage, EvalQuestion } from '../../datasets/question-set.ts'
import { sampleIndices, seededRandom } from '../../../base/random.ts'

/**
 * Samples the demonstrations of one question from the pool, never the question itself. Depends on the seed and the question only, so a
 * resumed run samples the same.
 */
export function chooseDemonstrations(pool: readonly EvalQuestion[], question: string, shots: number, seed: number): EvalQuestion[] {
  const asked = sameQuestion(question)
  const random = seededRandom('demonstrations', seed, asked)
  // Samples more than needed, since the question itself (under several ids, in PopQA) may be among them.
  for (let drawn = shots + 1; ; drawn = Math.min(pool.length, drawn * 2)) {
    const others = sampleIndices(pool.length, drawn, random)
      .map((i) => at(pool, i))
      .filter((candidate) => sameQuestion(candidate.question) !== asked)
    if (others.length >= shots || drawn >= pool.length) return others.slice(0, shots)
  }
}

/** A training question as a worked example: its first answer, and its top passage if any. */
export function toDemonstration({ question, answers }: EvalQuestion, passage: EvalPassage | undefined): Demonstration {
  return { question, answer: at(answers, 0), ...(passage && { passage: { title: passage.title, text: passage.text } }) }
}
