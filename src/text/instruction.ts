/** What an instruction asks for where the passages do not answer. */
const NO_ANSWER_PHRASE = 'not in the passages'
/** Instruction of questions in a chat template: chat models answer in sentences otherwise. */
export const SHORT_ANSWER = `Reply with only the name, number or phrase that answers it, copied from the passages, not a sentence; or "${NO_ANSWER_PHRASE}".`
const PHRASE_WORDS = 'the answer is it this not mentioned stated found in passages'.split(' ')
const SAYS_NO_ANSWER = /^\W*(?:the answer is |it is |this is )?not (?:mentioned |stated |found )?in the passages?\b\W*$/i

/** A question with an instruction after it: small models follow what is near the answer. */
export function instructed(question: string, instruction = ''): string {
  return instruction === '' ? question : `${question}\n${instruction}`
}

/** Whether an instruction asks for the phrase that says that there is no answer. */
export function asksForPhrase(instruction = ''): boolean {
  return instruction.toLowerCase().includes(NO_ANSWER_PHRASE)
}

/** Whether the beginning of an answer may become the phrase: the rest of the text decides. */
export function mayBecomePhrase(begun: string): boolean {
  const words = begun.toLowerCase().match(/\w+/g) ?? []
  return words.every((word) => PHRASE_WORDS.some((one) => one.startsWith(word)))
}

/** An answer without the phrase that says that there is none: empty then. */
export function withoutPhrase(answer: string): string {
  return SAYS_NO_ANSWER.test(answer) ? '' : answer
}
