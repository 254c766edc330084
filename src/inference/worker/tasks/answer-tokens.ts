import type { PromptTokenizer } from '../../../text/pack.ts'
import type { AnswerToken, GenerateResult } from '../../contract.ts'

/** Tokens in front of one that decide how its text is written. */
const BEFORE = 8
const UNFINISHED = /\uFFFD+$/

/**
 * The tokens of an answer's text, whose texts joined are that text: what was trimmed or cut is left out. Bytes of a character that
 * several tokens make stand with the last of them.
 * @param text a part of what the tokens say
 */
export function answerTokens(
  { tokenIds, logprobs, alternatives = [] }: Pick<GenerateResult, 'tokenIds' | 'logprobs' | 'alternatives'>,
  text: string,
  { decode }: Pick<PromptTokenizer, 'decode'>,
): AnswerToken[] {
  const all = decode(tokenIds)
  const said = (count: number): string => decode(tokenIds.slice(0, count)).replace(UNFINISHED, '')
  const from = Math.max(0, all.indexOf(text))
  const to = from + text.length
  const tokens: AnswerToken[] = []
  for (const [i, logprob] of logprobs.entries()) {
    const [start, end] = [said(i).length, said(i + 1).length]
    if (start >= to || (start < from && end <= from)) continue
    const own = all.slice(Math.max(start, from), Math.min(end, to))
    const top = alternatives[i]?.map(({ id, logprob }) => ({ text: alone(i, id, from), logprob })) ?? []
    tokens.push({ text: own, logprob, top })
  }
  return tokens

  function alone(place: number, id: number, textFrom: number): string {
    const before = tokenIds.slice(Math.max(0, place - BEFORE), place)
    const own = decode([...before, id]).slice(decode(before).length)
    return said(place).length < textFrom || place === 0 ? own.trimStart() : own
  }
}
