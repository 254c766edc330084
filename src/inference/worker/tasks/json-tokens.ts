import type { AnswerToken } from '../../contract.ts'

/** Tokens of a JSON text around an answer; one for all of it if the answer does not stand in it as it is. */
export function framedTokens(tokens: readonly AnswerToken[], text: string): AnswerToken[] {
  return tokensAround(tokens.map(escapedToken), text)
}

/** Tokens of a text around that of others; one for all of it if that does not stand in it. */
export function tokensAround(tokens: readonly AnswerToken[], text: string): AnswerToken[] {
  const answer = textOf(tokens)
  const from = answer === '' ? -1 : text.lastIndexOf(answer)
  if (from < 0) return [{ text, logprob: tokens.reduce((sum, { logprob }) => sum + logprob, 0), top: [] }]
  return put(tokens, from, [{ text, logprob: 0, top: [] }])
}

/** Tokens with others for those that stand at an offset of their text. */
function put(words: readonly AnswerToken[], from: number, tokens: readonly AnswerToken[]): AnswerToken[] {
  return [...tokensIn(tokens, 0, from), ...words, ...tokensIn(tokens, from + textOf(words).length, Infinity)]
}

/** The tokens of a part of a text, cut to it. */
function tokensIn(tokens: readonly AnswerToken[], from: number, to: number): AnswerToken[] {
  let end = 0
  return tokens.flatMap((token) => {
    const start = end
    end += token.text.length
    const text = token.text.slice(Math.max(0, from - start), Math.max(0, to - start))
    return text === '' ? [] : { ...token, text }
  })
}

function escapedToken(token: AnswerToken): AnswerToken {
  return { ...token, text: JSON.stringify(token.text).slice(1, -1) }
}

function textOf(tokens: readonly AnswerToken[]): string {
  return tokens.map(({ text }) => text).join('')
}
