import type { PromptTokenizer } from '../../../text/pack.ts'

/**
 * Ids of a space, a text and a line end after a prompt. They are taken from the tokens of both together, since a tokenizer may treat the start of a text differently. If those
 * do not begin with the prompt's tokens (one crosses the boundary), the text is tokenised alone, with or without the space: whichever
 * decodes equally after the prompt.
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
