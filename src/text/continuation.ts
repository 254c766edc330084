import type { PromptTokenizer } from './pack.ts'

/**
 * Ids of " {text}\n" as they stand after a prompt. They are taken from the tokens of both together, since a tokenizer may
 * treat a text's beginning differently; where those do not begin with the prompt's own (a token reaches across the border),
 * the continuation is tokenised alone, with or without the space: whichever reads the same after the prompt.
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
