import { at } from '../../base/at.ts'
import { CodedError } from '../../base/errors.ts'
import { wordsOf } from '../text/words.ts'
import type { RankedPassage } from './gather.ts'
import type { AnswerServices, Asked } from './pipeline.ts'
import { scoringMode } from './resolve-request.ts'
import { LIMITS, type AnswerResponse, type Evidence } from './schema.ts'

type Explanation = NonNullable<AnswerResponse['explanation']>

/**
 * Answers again without each of the most attended passages, one at a time, and scores the first answer there. Passages are encoded
 * separately, so states of the others come from the cache; the question's deadline and cancellation apply to all of it.
 * @throws deadline_exceeded, client_closed; unprocessable naming `explain` if prompt and answer leave no room to score
 */
export async function explainByDropping(
  answer: string,
  evidence: readonly Evidence[],
  asked: Asked,
  { reader }: AnswerServices,
): Promise<Explanation> {
  const { resolved, passages } = asked
  const { topTokens: _, ...question } = resolved
  const read = { ...question, includePrompts: false, attendedSentences: false }
  const mode = scoringMode(resolved.mode, reader.manifest)
  const score = async (others: readonly RankedPassage[]): Promise<number> => {
    const { logprobs } = await reader.choices({ ...read, mode, passages: others, choices: [answer] }, asked.run()).catch(namedAnew)
    return at(logprobs, 0).reduce((sum, logprob) => sum + logprob, 0)
  }
  const logprob = await score(passages)
  const dropped: Explanation['dropped'] = []
  for (const { id, rank } of mostAttended(evidence)) {
    const others = passages.filter((_, i) => i !== rank - 1)
    const { text } = await reader.answer({ ...read, passages: others }, asked.run())
    dropped.push({ id, rank, answer: text, changed: !sameWords(text, answer), logprob_change: (await score(others)) - logprob })
  }
  return { hangs_on: dropped.filter(({ changed }) => changed).map(({ id }) => id), logprob, dropped }
}

/** Prompt and answer fill the window, without room for the scored line end. */
function namedAnew(error: unknown): never {
  if (!(error instanceof CodedError && error.code === 'unprocessable')) throw error
  throw new CodedError(
    'unprocessable',
    'The answer fills the window, and cannot be scored: lower k_decoder or max_new_tokens, or leave explain out.',
    { field: 'explain', cause: error },
  )
}

/** The passages that were read, most attended first; those of the prompt, whose attention is not measured, follow by rank. */
function mostAttended(evidence: readonly Evidence[]): Evidence[] {
  return evidence
    .filter(({ role }) => role !== 'unused')
    .sort((a, b) => (b.attention ?? -1) - (a.attention ?? -1))
    .slice(0, LIMITS.droppedPassages)
}

function sameWords(one: string, other: string): boolean {
  const words = (text: string) =>
    wordsOf(text)
      .map(({ plain }) => plain)
      .join(' ')
  return words(one) === words(other)
}
