import { CodedError } from '../../base/errors.ts'
import {
  BLOCK_SEPARATOR,
  renderDemonstration,
  renderPassage,
  renderPrompt,
  renderQuestion,
  type Demonstration,
  type PromptPassage,
} from './prompt.ts'

/** What packing needs of the decoder's tokenizer. */
export interface PromptTokenizer {
  /** Token ids without BOS. */
  encode(text: string): number[]
  decode(ids: readonly number[]): string
  readonly bosId: number | null
}

export interface PackOptions {
  readonly question: string
  readonly demonstrations: readonly Demonstration[]
  /** Candidates for the decoder prompt, best first. */
  readonly passages: readonly PromptPassage[]
  /** Tokens kept of each passage. */
  readonly contextTokens: number
  /** Decoder positions. */
  readonly window: number
  readonly maxNewTokens: number
}

export interface PackedPrompt {
  readonly text: string
  /** BOS included. */
  readonly ids: readonly number[]
  /** How many of `passages`, from the first, the prompt holds. */
  readonly passagesUsed: number
}

/** The rendered passage cut to `maxTokens` at its end, so that the title stays. */
export function truncatePassage(passage: PromptPassage, maxTokens: number, tokenizer: PromptTokenizer): { text: string; tokens: number } {
  const text = renderPassage(passage)
  const ids = tokenizer.encode(text)
  if (ids.length <= maxTokens) return { text, tokens: ids.length }
  return { text: tokenizer.decode(ids.slice(0, maxTokens)).trimEnd(), tokens: maxTokens }
}

/**
 * Builds the decoder prompt: all demonstrations, then as many passages as the window holds beside the new tokens, then the question.
 * The prompt is tokenised as one text, as the model was trained; lengths of blocks are only used to find a first guess.
 * @throws unprocessable where question and demonstrations alone do not fit
 */
export function packPrompt(options: PackOptions, tokenizer: PromptTokenizer): PackedPrompt {
  const { question, window, maxNewTokens, contextTokens } = options
  const bos = tokenizer.bosId === null ? [] : [tokenizer.bosId]
  const budget = window - maxNewTokens - bos.length
  const demonstrations = options.demonstrations.map((demonstration) =>
    renderDemonstration(cutDemonstration(demonstration, contextTokens, tokenizer)),
  )
  const fixedTokens = tokenizer.encode(renderPrompt(demonstrations, [], question)).length
  if (fixedTokens > budget) throw tooLong(question, options.demonstrations.length, fixedTokens, budget, tokenizer)

  const separatorTokens = tokenizer.encode(BLOCK_SEPARATOR).length
  const rendered: string[] = []
  let estimate = fixedTokens
  for (const passage of options.passages) {
    if (estimate > budget) break
    const { text, tokens } = truncatePassage(passage, contextTokens, tokenizer)
    rendered.push(text)
    estimate += tokens + separatorTokens
  }
  for (let used = rendered.length; ; used--) {
    const text = renderPrompt(demonstrations, rendered.slice(0, used), question)
    const ids = tokenizer.encode(text)
    if (ids.length <= budget || used === 0) return { text, ids: [...bos, ...ids], passagesUsed: used }
  }
}

function cutDemonstration(demonstration: Demonstration, contextTokens: number, tokenizer: PromptTokenizer): Demonstration {
  if (demonstration.passage === undefined) return demonstration
  const ids = tokenizer.encode(renderPassage(demonstration.passage))
  if (ids.length <= contextTokens) return demonstration
  const surplus = ids.length - contextTokens
  const textIds = tokenizer.encode(demonstration.passage.text)
  const text = tokenizer.decode(textIds.slice(0, Math.max(1, textIds.length - surplus))).trim()
  return { ...demonstration, passage: { title: demonstration.passage.title, text } }
}

function tooLong(question: string, demonstrations: number, tokens: number, budget: number, tokenizer: PromptTokenizer): CodedError {
  const questionTokens = tokenizer.encode(renderQuestion(question)).length
  return questionTokens > budget
    ? new CodedError(
        'unprocessable',
        `question has ${questionTokens} tokens, but the model's window leaves ${budget}: shorten the question or lower max_new_tokens.`,
        { field: 'question' },
      )
    : new CodedError(
        'unprocessable',
        `${demonstrations} demonstrations and the question take ${tokens} tokens, but the model's window leaves ${budget}: ask for fewer or shorter demonstrations.`,
        { field: 'demonstrations' },
      )
}
