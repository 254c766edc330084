import type { AskedIds, ReaderClient } from '../../run/contract.ts'
import { invalidOption, type TaskOptions } from '../../run/options.ts'
import type { GenerateRequest } from '../../../src/inference/contract.ts'
import type { SplitDocument } from '../../../src/text/document/plan-document.ts'

/**
 * Continues the prompt.
 * @param stopAtLineEnd whether a line end ends the output; the end token always does
 * @throws invalid_request if it does not fit the model's window
 */
export async function generateText(
  { promptIds, contextIds }: SplitDocument,
  { stopAtLineEnd, ...limits }: Pick<GenerateRequest, 'maxNewTokens' | 'minNewTokens' | 'sampling'> & { readonly stopAtLineEnd: boolean },
  client: ReaderClient,
) {
  const stopIds = stopAtLineEnd ? client.tokenizer.stopIds('\n') : client.manifest.tokens.eos_ids
  const started = performance.now()
  const { tokenIds } = await client.reader.generate({
    contexts: [],
    contextIds,
    contextTokens: Math.max(1, client.manifest.dims.encoder_window),
    promptIds,
    stopIds,
    ...limits,
  })
  const last = tokenIds.at(-1)
  const kept = last !== undefined && stopIds.includes(last) ? tokenIds.slice(0, -1) : tokenIds
  return {
    output: client.tokenizer.decode(kept),
    asked: { decoder: [promptIds], encoder: contextIds } satisfies AskedIds,
    tokens: { decoder: promptIds.length, encoder: contextIds.flat().length, generated: tokenIds.length },
    ms: performance.now() - started,
  }
}

/**
 * Tokens of the decoder's prompt: as requested, or the window minus the new tokens; and tokens per chunk of the encoder.
 * @param without the option that asks for no encoder
 * @throws options_invalid if no token is left, or the model lacks the encoder that is wanted
 */
export function promptSizes(
  options: TaskOptions,
  { maxNewTokens, needsEncoder, without }: { readonly maxNewTokens: number; readonly needsEncoder: boolean; readonly without: string },
  { manifest }: ReaderClient,
) {
  const { window, encoder_window: encoderWindow } = manifest.dims
  const decoder = Math.min(options.integer('decoderTokens', 1), window)
  if (decoder <= maxNewTokens)
    throw invalidOption(`${maxNewTokens} new tokens leave nothing of the ${decoder} tokens of the decoder: lower --max-new-tokens.`)
  const wanted = options.integer('chunkTokens', 1)
  if (needsEncoder && manifest.graphs.encoder === null) throw invalidOption(`This model has no encoder: ask for ${without}.`)
  return { promptTokens: decoder - maxNewTokens, chunkTokens: encoderWindow === 0 ? wanted : Math.min(wanted, encoderWindow) }
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

/**
 * Keeps the numbers of encoder tokens (ascending, 0 for none) that give the encoder more of some document than the previous one: others
 * would repeat its prompts.
 * @param lengthsOf tokens of an item's prompt: the divisible part, and the part that always stays in the decoder; asked until one is long
 *   enough
 * @param promptTokens of the decoder
 */
export function reachingEncoder<Item>(
  encoderTokens: readonly number[],
  items: Iterable<Item>,
  lengthsOf: (item: Item) => { readonly document: number; readonly question: number },
  promptTokens: number,
): { readonly reached: readonly number[]; readonly idle: readonly number[] } {
  const left = items[Symbol.iterator]()
  let longest = 0
  const overflows = (tokens: number): boolean => {
    while (longest <= tokens) {
      const next = left.next()
      if (next.done === true) return false
      const { document, question } = lengthsOf(next.value)
      longest = Math.max(longest, document - Math.max(0, promptTokens - question))
    }
    return true
  }
  const [reached, idle]: [number[], number[]] = [[], []]
  for (const tokens of encoderTokens) {
    if (tokens === 0 || overflows(reached.at(-1) ?? 0)) reached.push(tokens)
    else idle.push(tokens)
  }
  return { reached, idle }
}
