import { unprocessable } from '../../base/errors.ts'
import { NO_WRAP, type Wrap, wrapped } from './chat-template.ts'
import {
  BLOCK_SEPARATOR,
  type Demonstration,
  type PromptPassage,
  renderDemonstration,
  renderPassage,
  renderPrompt,
  renderQuestion,
} from './prompt.ts'
import type { Tokenizer } from './tokenizer.ts'

/** The part of the decoder's tokenizer that packing needs. */
export type PromptTokenizer = Pick<Tokenizer, 'encode' | 'decode' | 'bosId'>

/** Ids before the prompt's own tokens. */
export function frontIds({ bosId }: Pick<PromptTokenizer, 'bosId'>, { withoutBos = false }: Wrap = NO_WRAP): readonly number[] {
  return bosId === null || withoutBos ? [] : [bosId]
}

export interface PackOptions {
  readonly question: string
  readonly demonstrations: readonly Demonstration[]
  /** Candidates for the decoder prompt, best first. */
  readonly passages: readonly PromptPassage[]
  readonly contextTokens: number
  readonly window: number
  readonly maxNewTokens: number
  /** Chat template of the prompt; default none. */
  readonly wrap?: Wrap
}

interface PackedPrompt {
  readonly text: string
  /** Including BOS. */
  readonly ids: readonly number[]
  /** Number of `passages`, from the first, in the prompt. */
  readonly passagesUsed: number
}

/** A text, truncated at its end if it has more than `maxTokens`: the title of a rendered passage stays. */
export function truncated(text: string, maxTokens: number, tokenizer: PromptTokenizer) {
  const ids = tokenizer.encode(text, { maxTokens: maxTokens + 1 })
  if (ids.length <= maxTokens) return { text, tokens: ids.length, isCut: false }
  return { text: tokenizer.decode(ids.slice(0, maxTokens)), tokens: maxTokens, isCut: true }
}

/**
 * Parts common to all prompts of a question, truncated and counted once.
 * @returns the rendered demonstrations, the tokens of demonstrations and question, and those that the window leaves for a prompt without BOS
 * @throws unprocessable if question and demonstrations alone do not fit
 */
export function frameOf(options: Omit<PackOptions, 'passages'>, tokenizer: PromptTokenizer) {
  const { question, window, maxNewTokens, contextTokens, wrap = NO_WRAP } = options
  const budget = window - maxNewTokens - frontIds(tokenizer, wrap).length
  const demonstrations = options.demonstrations.map((demonstration) =>
    renderDemonstration(cutDemonstration(demonstration, contextTokens, tokenizer)),
  )
  const fixedTokens = tokenizer.encode(wrapped(wrap, renderPrompt(demonstrations, [], question)), {
    maxTokens: Math.max(0, budget) + 1,
  }).length
  if (fixedTokens > budget) throw tooLong(options, budget, tokenizer)
  return { demonstrations, fixedTokens, budget }
}

/**
 * Builds a decoder prompt: all demonstrations, then as many passages as the window holds with the new tokens, then the question. The
 * prompt is tokenised as one text, as in training; lengths of blocks only give a first estimate.
 */
export function packPrompt(options: PackOptions, tokenizer: PromptTokenizer, frame = frameOf(options, tokenizer)): PackedPrompt {
  const { question, contextTokens, wrap = NO_WRAP } = options
  const { demonstrations, fixedTokens, budget } = frame
  const front = frontIds(tokenizer, wrap)
  const separatorTokens = tokenizer.encode(BLOCK_SEPARATOR).length
  const rendered: string[] = []
  let estimate = fixedTokens
  for (const passage of options.passages) {
    if (estimate > budget) break
    const { text, tokens, isCut } = truncated(renderPassage(passage), contextTokens, tokenizer)
    rendered.push(isCut ? text.trimEnd() : text)
    estimate += tokens + separatorTokens
  }
  for (let used = rendered.length; ; used--) {
    const text = wrapped(wrap, renderPrompt(demonstrations, rendered.slice(0, used), question))
    const ids = tokenizer.encode(text, { maxTokens: budget + 1 })
    if (ids.length <= budget || used === 0) return { text, ids: [...front, ...ids], passagesUsed: used }
  }
}

/** Characters of a passage's text used to count the tokens that rendering adds: the rest is the same in both. */
const SAMPLE_CHARACTERS = 1024

function cutDemonstration(demonstration: Demonstration, contextTokens: number, tokenizer: PromptTokenizer): Demonstration {
  const { passage } = demonstration
  if (passage === undefined || !truncated(renderPassage(passage), contextTokens, tokenizer).isCut) return demonstration
  const sample = passage.text.slice(0, SAMPLE_CHARACTERS)
  const added = tokenizer.encode(renderPassage({ ...passage, text: sample })).length - tokenizer.encode(sample).length
  const kept = tokenizer.encode(passage.text, { maxTokens: Math.max(1, contextTokens - added) })
  return { ...demonstration, passage: { title: passage.title, text: tokenizer.decode(kept).trim() } }
}

function tooLong({ question, demonstrations, wrap = NO_WRAP }: Omit<PackOptions, 'passages'>, budget: number, tokenizer: PromptTokenizer) {
  const more = `take more than the ${budget} tokens that the model's window leaves`
  if (tokenizer.encode(wrap.before + wrap.after, { maxTokens: budget + 1 }).length > budget)
    return unprocessable('messages', `The chat's earlier messages ${more}: leave the oldest out.`)
  const questionTokens = tokenizer.encode(renderQuestion(question)).length
  const tooLarge = `question has ${questionTokens} tokens, but the model's window leaves ${budget}: shorten it, or ask for fewer new tokens.`
  if (questionTokens > budget) return unprocessable('question', tooLarge)
  const remedy = 'ask for fewer or shorter demonstrations'
  return unprocessable('demonstrations', `${demonstrations.length} demonstrations and the question ${more}: ${remedy}.`)
}

const OMITTED = '... [The rest of the documents is omitted]\n\n'

/**
 * Packs the decoder prompt as in the paper's evaluation: passages are not truncated individually; if they are too long together, the text
 * before the question is truncated anywhere, with a notice. `passagesUsed` counts passages that are at least partly included.
 * @throws unprocessable if the question alone does not fit
 */
export function packText(
  { question, demonstrations, passages, window, maxNewTokens, wrap = NO_WRAP }: PackOptions,
  tokenizer: PromptTokenizer,
): PackedPrompt {
  const front = frontIds(tokenizer, wrap)
  const budget = window - maxNewTokens
  const blocks = [...demonstrations.map(renderDemonstration), ...passages.map(renderPassage)].map((block) => block + BLOCK_SEPARATOR)
  const before = wrap.before + blocks.join('')
  const asked = renderQuestion(question) + wrap.after
  const whole = [...front, ...tokenizer.encode(before + asked, { maxTokens: budget + 1 })]
  if (whole.length <= budget) return { text: before + asked, ids: whole, passagesUsed: passages.length }

  const query = tokenizer.encode(OMITTED + asked)
  const room = budget - query.length
  if (room < 1)
    throw unprocessable('question', `question has ${query.length} tokens, but the model's window leaves ${budget}: shorten the question.`)
  const kept = [...front, ...tokenizer.encode(before, { maxTokens: room })].slice(0, room)
  const keptText = tokenizer.decode(kept)
  const begins = (passage: number) =>
    wrap.before.length + blocks.slice(0, demonstrations.length + passage).join('').length < keptText.length
  const passagesUsed = passages.filter((_, i) => begins(i)).length
  return { text: keptText + OMITTED + asked, ids: [...kept, ...query], passagesUsed }
}
