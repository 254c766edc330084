import type { AnswerToken } from '../../contract.ts'

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
  if (from < 0) return [{ text, logprob: tokens.reduce((sum, { logprob }) => sum + logprob, 0), top: [] }]
  const fixed = (text: string): AnswerToken[] => (text === '' ? [] : [{ text, logprob: 0, top: [] }])
  return [...fixed(text.slice(0, from)), ...tokens, ...fixed(text.slice(from + answer.length))]
}
