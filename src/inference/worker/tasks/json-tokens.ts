import { sum } from '../../../../base/at.ts'
import type { AnswerToken } from '../../contract.ts'

/** A token of text that the form fixes: its probability is 1. */
export function fixedToken(text: string): AnswerToken {
  return { text, logprob: 0, top: [] }
}

/** Tokens of a JSON text around an answer; one for all of it if the answer does not stand in it as it is. */
export function framedTokens(tokens: readonly AnswerToken[], text: string): AnswerToken[] {
  return tokensAround(
    tokens.map((token) => ({ ...token, text: JSON.stringify(token.text).slice(1, -1) })),
    text,
  )
}

/** Tokens of a text around that of others; one for all of it if that does not stand in it. */
export function tokensAround(tokens: readonly AnswerToken[], text: string): AnswerToken[] {
  const answer = tokens.map(({ text }) => text).join('')
  const from = answer === '' ? -1 : text.lastIndexOf(answer)
  if (from < 0) return [{ ...fixedToken(text), logprob: sum(tokens.map(({ logprob }) => logprob)) }]
  const [before, after] = [text.slice(0, from), text.slice(from + answer.length)]
  return [fixedToken(before), ...tokens, fixedToken(after)].filter(({ text }) => text !== '')
}
