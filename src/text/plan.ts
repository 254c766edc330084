import { at } from '../../base/at.ts'
import { CodedError } from '../../base/errors.ts'
import type { Wrap } from './chat-template.ts'
import { frameOf, packPrompt, type PromptTokenizer } from './pack.ts'
import { packText } from './pack-text.ts'
import { renderPassage, type Demonstration, type PromptPassage } from './prompt.ts'

export const MODES = ['cepe', 'decoder-only', 'replug', 'closed-book'] as const
export type Mode = (typeof MODES)[number]

/** A question with every option settled, and the passages to answer it from, best first. */
export interface PromptRequest {
  readonly question: string
  readonly mode: Mode
  readonly passages: readonly (PromptPassage & { readonly score: number | null })[]
  /** Passages in the decoder's prompt. */
  readonly kDecoder: number
  /** What the encoder reads: the passages that the prompt does not hold, or all. */
  readonly encoderPassages: 'others' | 'all'
  readonly demonstrations: readonly Demonstration[]
  /** Tokens kept of each passage. */
  readonly contextTokens: number
  readonly maxNewTokens: number
  /** How what is too long is cut: passage by passage, or the prompt's text as a whole, as the published evaluation does. */
  readonly packing: 'passages' | 'text'
  /** What a chat template puts around the prompt; nothing where absent. */
  readonly wrap?: Wrap
}

/** What the model can read. */
export interface PromptLimits {
  /** Decoder positions. */
  readonly window: number
  readonly hasEncoder: boolean
  /** Tokens of all prompts of a RePlug question. */
  readonly replugTokens: number
}

/** What the reader is asked: prompts, and the placement of each passage. */
export interface ReadPlan {
  readonly prompts: readonly { readonly ids: readonly number[]; readonly text: string; readonly score: number }[]
  readonly contexts: readonly string[]
  /** In place of `contexts` where they are cut at their front. */
  readonly contextIds?: readonly (readonly number[])[]
  /** Index of the context that holds passage i, or -1. */
  readonly contextOf: readonly number[]
  readonly inDecoder: readonly boolean[]
}

/**
 * Decides what the decoder's prompt holds and what the encoder reads.
 * @param step awaited between prompts
 * @throws unprocessable where question and demonstrations do not fit, or RePlug's prompts exceed their bound
 */
export async function planRead(
  request: PromptRequest,
  limits: PromptLimits,
  tokenizer: PromptTokenizer,
  step: () => Promise<void> = () => Promise.resolve(),
): Promise<ReadPlan> {
  const { passages, demonstrations, mode } = request
  const options = { ...request, window: limits.window }
  const pack = request.packing === 'text' ? packText : packPrompt
  const nothingEncoded = { contexts: [], contextOf: passages.map(() => -1) }
  const placed = (used: number) => passages.map((_, i) => i < used)

  switch (mode) {
    case 'closed-book': {
      const bare = demonstrations.map(({ question, answer }) => ({ question, answer }))
      const prompt = pack({ ...options, passages: [], demonstrations: bare }, tokenizer)
      return { prompts: [{ ...prompt, score: 0 }], ...nothingEncoded, inDecoder: placed(0) }
    }
    case 'decoder-only': {
      const prompt = pack(options, tokenizer)
      return { prompts: [{ ...prompt, score: 0 }], ...nothingEncoded, inDecoder: placed(prompt.passagesUsed) }
    }
    case 'replug':
      return { ...(await replugPrompts(request, limits, tokenizer, step)), ...nothingEncoded }
    case 'cepe': {
      const prompt = pack({ ...options, passages: passages.slice(0, request.kDecoder) }, tokenizer)
      // The published evaluation divides the passages before it looks at the window: what is cut off the prompt is read by neither side.
      const others = request.packing === 'text' ? request.kDecoder : prompt.passagesUsed
      const first = request.encoderPassages === 'all' ? 0 : others
      const encoded = limits.hasEncoder ? passages.slice(first) : []
      return {
        prompts: [{ ...prompt, score: 0 }],
        ...(request.packing === 'text'
          ? { contexts: [], contextIds: await cutAtFront(encoded, request.contextTokens, tokenizer, step) }
          : { contexts: encoded.map(renderPassage) }),
        contextOf: passages.map((_, i) => (i >= first && encoded.length > 0 ? i - first : -1)),
        inDecoder: placed(prompt.passagesUsed),
      }
    }
  }
}

/** What the encoder reads, as text. */
export function cutContexts({ contexts, contextIds }: ReadPlan, contextTokens: number, tokenizer: PromptTokenizer): string[] {
  if (contextIds) return contextIds.map((ids) => tokenizer.decode(ids))
  return contexts.map((text) => {
    const ids = tokenizer.encode(text, { maxTokens: contextTokens + 1 })
    return ids.length <= contextTokens ? text : tokenizer.decode(ids.slice(0, contextTokens))
  })
}

/** The last tokens of each passage, as the published evaluation keeps them. */
async function cutAtFront(
  passages: readonly PromptPassage[],
  contextTokens: number,
  tokenizer: PromptTokenizer,
  step: () => Promise<void>,
): Promise<number[][]> {
  const rows: number[][] = []
  for (const passage of passages) {
    await step()
    rows.push(tokenizer.encode(renderPassage(passage)).slice(-contextTokens))
  }
  return rows
}

/** One prompt per passage; what stands in all of them is cut and counted once. */
async function replugPrompts(
  request: PromptRequest,
  { window, replugTokens }: PromptLimits,
  tokenizer: PromptTokenizer,
  step: () => Promise<void>,
): Promise<Pick<ReadPlan, 'prompts' | 'inDecoder'>> {
  const options = { ...request, window }
  const frame = frameOf(options, tokenizer)
  const groups = request.passages.length === 0 ? [[]] : request.passages.map((passage) => [passage])
  const prompts: (ReadPlan['prompts'][number] & { passagesUsed: number })[] = []
  let tokens = 0
  for (const passages of groups) {
    await step()
    const prompt =
      request.packing === 'text' ? packText({ ...options, passages }, tokenizer) : packPrompt({ ...options, passages }, tokenizer, frame)
    tokens += prompt.ids.length + request.maxNewTokens
    if (tokens > replugTokens) throw tooMany(prompts.length + 1, groups.length, replugTokens)
    prompts.push({ ...prompt, score: passages[0]?.score ?? 0 })
  }
  return { prompts, inDecoder: request.passages.map((_, i) => at(prompts, i).passagesUsed > 0) }
}

function tooMany(reached: number, prompts: number, replugTokens: number): CodedError {
  return new CodedError(
    'unprocessable',
    `replug would read ${prompts} prompts, but the first ${reached} have more than ${replugTokens} tokens with their answers: lower k or context_tokens, or raise CEPE_REPLUG_MB.`,
    { field: 'k' },
  )
}
