import { at } from '../../base/at.ts'
import { type CodedError, unprocessable } from '../../base/errors.ts'
import { type PackOptions, type PromptTokenizer, frameOf, packPrompt, packText, truncated } from './pack.ts'
import { type PromptPassage, renderPassage } from './prompt.ts'

export const MODES = ['cepe', 'decoder-only', 'map-rerank', 'experts', 'replug', 'closed-book'] as const
export type Mode = (typeof MODES)[number]
/** Modes of a single plan; map-rerank plans one prompt after the other. */
export type PlannedMode = Exclude<Mode, 'map-rerank'>

/** A question with all options resolved, and its passages, best first. */
export interface PromptRequest extends Omit<PackOptions, 'window'> {
  readonly mode: PlannedMode
  readonly passages: readonly (PromptPassage & { readonly score: number | null })[]
  readonly kDecoder: number
  /** Encoder input: passages not in the prompt, or all. */
  readonly encoderPassages: 'others' | 'all'
  /** How to truncate: per passage, or the prompt's text as a whole, as in the paper's evaluation. */
  readonly packing: 'passages' | 'text'
}

export interface PromptLimits {
  readonly window: number
  readonly hasEncoder: boolean
  /** Total tokens of a question's prompts in the modes with one prompt per passage. */
  readonly replugTokens: number
}

/** Prompts for the reader, and the placement of each passage. */
export interface ReadPlan {
  readonly prompts: readonly { readonly ids: readonly number[]; readonly text: string; readonly score: number }[]
  readonly contexts: readonly string[]
  /** Instead of `contexts`, if they are truncated at their start. */
  readonly contextIds?: readonly (readonly number[])[] | undefined
  /** Index of the context that holds passage i, or -1. */
  readonly contextOf: readonly number[]
  readonly inDecoder: readonly boolean[]
}

/**
 * Distributes passages over the decoder's prompt and the encoder.
 * @param yieldPoint awaited between prompts
 * @throws unprocessable if question and demonstrations do not fit, or RePlug's prompts exceed their limit
 */
export async function planRead(
  request: PromptRequest,
  limits: PromptLimits,
  tokenizer: PromptTokenizer,
  yieldPoint: () => Promise<void> = () => Promise.resolve(),
): Promise<ReadPlan> {
  const { passages, demonstrations, mode } = request
  const options = { ...request, window: limits.window }
  const pack = request.packing === 'text' ? packText : packPrompt
  const nothingEncoded = { contexts: [], contextOf: passages.map(() => -1) }
  const inPrompt = (used: number) => passages.map((_, i) => i < used)

  switch (mode) {
    case 'closed-book':
    case 'decoder-only': {
      const bare = { passages: [], demonstrations: demonstrations.map(({ question, answer }) => ({ question, answer })) }
      const prompt = pack({ ...options, ...(mode === 'closed-book' && bare) }, tokenizer)
      return { prompts: [{ ...prompt, score: 0 }], ...nothingEncoded, inDecoder: inPrompt(prompt.passagesUsed) }
    }
    case 'experts':
    case 'replug':
      return { ...(await replugPrompts(request, limits, tokenizer, yieldPoint)), ...nothingEncoded }
    case 'cepe': {
      const prompt = pack({ ...options, passages: passages.slice(0, request.kDecoder) }, tokenizer)
      // The paper's evaluation divides passages before truncation: what is cut off the prompt is read by neither side.
      const others = request.packing === 'text' ? request.kDecoder : prompt.passagesUsed
      const first = request.encoderPassages === 'all' ? 0 : others
      const encoded = limits.hasEncoder ? passages.slice(first) : []
      return {
        prompts: [{ ...prompt, score: 0 }],
        ...(request.packing === 'text'
          ? { contexts: [], contextIds: await cutAtFront(encoded, request.contextTokens, tokenizer, yieldPoint) }
          : { contexts: encoded.map(renderPassage) }),
        contextOf: passages.map((_, i) => (i >= first && encoded.length > 0 ? i - first : -1)),
        inDecoder: inPrompt(prompt.passagesUsed),
      }
    }
  }
}

export function cutContexts({ contexts, contextIds }: ReadPlan, contextTokens: number, tokenizer: PromptTokenizer): string[] {
  if (contextIds) return contextIds.map((ids) => tokenizer.decode(ids))
  return contexts.map((text) => truncated(text, contextTokens, tokenizer).text)
}

/** The last tokens of each passage, as in the paper's evaluation. */
async function cutAtFront(
  passages: readonly PromptPassage[],
  contextTokens: number,
  tokenizer: PromptTokenizer,
  yieldPoint: () => Promise<void>,
): Promise<number[][]> {
  const rows: number[][] = []
  for (const passage of passages) {
    await yieldPoint()
    rows.push(tokenizer.encode(renderPassage(passage)).slice(-contextTokens))
  }
  return rows
}

/** One prompt per passage; common parts are truncated and counted once. */
async function replugPrompts(
  request: PromptRequest,
  { window, replugTokens }: PromptLimits,
  tokenizer: PromptTokenizer,
  yieldPoint: () => Promise<void>,
): Promise<Pick<ReadPlan, 'prompts' | 'inDecoder'>> {
  const options = { ...request, window }
  const frame = frameOf(options, tokenizer)
  const groups = request.passages.length === 0 ? [[]] : request.passages.map((passage) => [passage])
  const prompts: (ReadPlan['prompts'][number] & { passagesUsed: number })[] = []
  let tokens = 0
  for (const passages of groups) {
    await yieldPoint()
    const prompt =
      request.packing === 'text' ? packText({ ...options, passages }, tokenizer) : packPrompt({ ...options, passages }, tokenizer, frame)
    tokens += prompt.ids.length + request.maxNewTokens
    if (tokens > replugTokens) throw tooMany(prompts.length + 1, groups.length, replugTokens)
    prompts.push({ ...prompt, score: passages[0]?.score ?? 0 })
  }
  return { prompts, inDecoder: request.passages.map((_, i) => at(prompts, i).passagesUsed > 0) }
}

function tooMany(reached: number, prompts: number, replugTokens: number): CodedError {
  const problem = `This mode would read ${prompts} prompts, but the first ${reached} have more than ${replugTokens} tokens with their answers`
  return unprocessable('k', `${problem}: lower k or context_tokens, or raise CEPE_REPLUG_MB.`)
}
