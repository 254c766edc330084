import { CodedError } from '../../../base/errors.ts'
import type { ReaderClient } from '../../client/reader.ts'
import type { AskedIds } from '../../task/contract.ts'
import type { GenerateRequest } from '../../../src/inference/contract.ts'
import type { SplitDocument } from '../../../src/text/document/split-document.ts'

export interface GenerateOptions {
  readonly maxNewTokens: number
  readonly minNewTokens?: number | undefined
  /** Whether a line end ends the output; the end token always does. */
  readonly stopAtLineEnd: boolean
  readonly sampling?: GenerateRequest['sampling'] | undefined
}

export interface Generated {
  readonly output: string
  readonly asked: AskedIds
  readonly tokens: { readonly decoder: number; readonly encoder: number; readonly generated: number }
  readonly ms: number
}

/** Continues the prompt. @throws invalid_request if it does not fit the model's window */
export async function generateText(
  { promptIds, contextIds }: SplitDocument,
  options: GenerateOptions,
  client: ReaderClient,
): Promise<Generated> {
  const { maxNewTokens, minNewTokens, stopAtLineEnd, sampling } = options
  const stopIds = stopAtLineEnd ? client.tokenizer.stopIds('\n') : client.manifest.tokens.eos_ids
  const started = performance.now()
  const { tokenIds } = await client.reader.generate({
    contexts: [],
    contextIds,
    contextTokens: Math.max(1, client.manifest.dims.encoder_window),
    promptIds,
    stopIds,
    maxNewTokens,
    minNewTokens,
    sampling,
  })
  const last = tokenIds.at(-1)
  const kept = last !== undefined && stopIds.includes(last) ? tokenIds.slice(0, -1) : tokenIds
  return {
    output: client.tokenizer.decode(kept),
    asked: { decoder: [promptIds], encoder: contextIds },
    tokens: { decoder: promptIds.length, encoder: contextIds.flat().length, generated: tokenIds.length },
    ms: performance.now() - started,
  }
}

/** Tokens of the decoder's prompt: as requested, or the window minus the new tokens. @throws options_invalid */
export function promptBudget(decoderTokens: number, maxNewTokens: number, window: number): number {
  const budget = Math.min(decoderTokens, window) - maxNewTokens
  if (budget < 1)
    throw new CodedError(
      'options_invalid',
      `${maxNewTokens} new tokens leave nothing of the ${Math.min(decoderTokens, window)} tokens of the decoder: lower --max-new-tokens.`,
    )
  return budget
}

/** Tokens per encoder chunk. */
export function chunkTokens(wanted: number, client: ReaderClient): number {
  const { encoder_window: window } = client.manifest.dims
  return window === 0 ? wanted : Math.min(wanted, window)
}

/** Vicuna v1.1's prompt template, which Giraffe's evaluation also uses for base models. */
export const VICUNA = {
  before:
    "A chat between a curious user and an artificial intelligence assistant. The assistant gives helpful, detailed, and polite answers to the user's questions. USER: ",
  after: ' ASSISTANT:',
} as const

/** Iterations to approximate a number of tokens. */
const ROUNDS = 6

/**
 * The number of repetitions or characters at which a text has this many tokens, or nearly so: tokens grow about linearly.
 * @param tokensAt tokens of the text of a size
 * @param sample a size with some tokens, for the first guess
 */
export function sizeFor(tokens: number, tokensAt: (size: number) => number, sample: number): number {
  const least = tokensAt(0)
  if (tokens <= least) return 0
  const perSize = Math.max(1e-6, (tokensAt(2 * sample) - tokensAt(sample)) / sample)
  let size = Math.max(0, Math.round((tokens - least) / perSize))
  let best = { size, off: Infinity }
  for (let round = 0; round < ROUNDS; round++) {
    const off = tokens - tokensAt(size)
    if (Math.abs(off) < Math.abs(best.off)) best = { size, off }
    const next = Math.max(0, size + Math.round(off / perSize))
    if (off === 0 || next === size) break
    size = next
  }
  return best.size
}

/** Token counts of a prompt: the divisible part, and the part that always stays in the decoder. */
export interface Lengths {
  readonly document: number
  readonly question: number
}

/**
 * Keeps the numbers of encoder tokens (ascending, 0 for none) that give the encoder more of some document than the previous one: others
 * would repeat its prompts.
 * @param lengths read until one is long enough
 * @param promptTokens of the decoder
 */
export function reachingEncoder(
  encoderTokens: readonly number[],
  lengths: Iterable<Lengths>,
  promptTokens: number,
): { readonly reached: readonly number[]; readonly idle: readonly number[] } {
  const left = lengths[Symbol.iterator]()
  let longest = 0
  const overflows = (tokens: number): boolean => {
    while (longest <= tokens) {
      const next = left.next()
      if (next.done === true) return false
      longest = Math.max(longest, next.value.document - Math.max(0, promptTokens - next.value.question))
    }
    return true
  }
  const [reached, idle]: [number[], number[]] = [[], []]
  for (const tokens of encoderTokens) {
    const before = reached.at(-1) ?? 0
    if (tokens === 0 || overflows(before)) reached.push(tokens)
    else idle.push(tokens)
  }
  return { reached, idle }
}
