import { titleOf } from '../evidence.ts'
import type { AnswerResponse } from '../schema.ts'

type Unanswered = Pick<AnswerResponse, 'answer' | 'abstained' | 'reason' | 'finish_reason' | 'extract' | 'suggestion'> & {
  readonly evidence: readonly unknown[]
}

const NO_WORDS = /^(?:The answer was cut off before|The passages do not say|There is no answer|No passage was found|Ask a question about)\b/

/** Why there is no answer, in a few words; null if there is one. */
export function refusalOf(response: Omit<Unanswered, 'extract' | 'suggestion'>): string | null {
  const { answer, abstained, reason, finish_reason, evidence } = response
  if (answer) return null
  if (finish_reason === 'length' && !abstained) return 'The answer was cut off before its first word: allow more tokens.'
  if (reason === 'no_question') return 'That is no question about the passages.'
  if (reason === 'no_passages') return 'No passage was found to answer from.'
  return `${evidence.length === 0 ? 'There is no answer' : 'The passages do not say'}${abstained ? ' for sure' : ''}.`
}

/** What to say where there is no answer: why, and the nearest sentence with its title, or what can be asked; null if there is an answer. */
export function noAnswerText(response: Unanswered): string | null {
  const { extract, suggestion } = response
  const refusal = refusalOf(response)
  if (refusal === null || suggestion !== undefined) return suggestion ?? null
  return extract === null ? refusal : `${refusal} The nearest sentence: ${extract.text} [${titleOf(extract)}]`
}

/** What to say of an answer that its limit of tokens ended, before how sure it is. */
export function cutOff({ finish_reason }: Pick<AnswerResponse, 'finish_reason'>): string {
  return finish_reason === 'length' ? 'cut off at the most tokens, ' : ''
}

/** Whether a text of an earlier turn is one of {@link noAnswerText}. */
export function isNoAnswer(text: string): boolean {
  return NO_WORDS.test(text)
}
