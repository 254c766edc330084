import type { PromptTokenizer } from '../../../text/pack.ts'
import type { AnswerToken, GenerateResult } from '../../contract.ts'

/** Preceding tokens that affect how a token is decoded. */
const BEFORE = 8
const UNFINISHED = /\uFFFD+$/

/**
 * The tokens of an answer's text; their texts concatenate to it, without trimmed parts. A character of several tokens belongs to the last.
 * @param text a part of the decoded tokens
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
    // Another graph read the alternatives, which rounds differently: the token is as likely there as it is here.
    const likely = (id: number, read: number): number => (id === tokenIds[i] && logprob < 0 ? logprob : read)
    const top = alternatives[i]?.map(({ id, logprob: read }) => ({ text: alone(i, id, from), logprob: likely(id, read) })) ?? []
    tokens.push({ text: own, logprob, top: top.sort((a, b) => b.logprob - a.logprob) })
  }
  return tokens

  function alone(position: number, id: number, textFrom: number): string {
    const before = tokenIds.slice(Math.max(0, position - BEFORE), position)
    const own = decode([...before, id]).slice(decode(before).length)
    return said(position).length < textFrom || position === 0 ? own.trimStart() : own
  }
}

/**
 * Ids of a space, a text and a line end after a prompt. They are taken from the tokens of both together, since a tokenizer may treat the
 * start of a text differently. If those do not begin with the prompt's tokens (one crosses the boundary), the text is tokenised alone, with
 * or without the space: whichever decodes equally after the prompt.
 * @param promptIds without BOS
 */
export function continuationIds(prompt: string, promptIds: readonly number[], text: string, tokenizer: PromptTokenizer): number[] {
  const joint = tokenizer.encode(`${prompt} ${text}\n`)
  if (promptIds.every((id, i) => joint[i] === id)) return joint.slice(promptIds.length)
  const read = tokenizer.decode(joint)
  const spaced = tokenizer.encode(` ${text}\n`)
  const bare = tokenizer.encode(`${text}\n`)
  return tokenizer.decode([...promptIds, ...bare]) === read ? bare : spaced
}
