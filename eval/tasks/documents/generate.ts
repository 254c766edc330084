import { CodedError } from '../../../base/errors.ts'
import type { GenerateRequest } from '../../../src/inference/contract.ts'
import type { ReaderClient } from '../../client/reader.ts'
import type { AskedIds } from '../../task/contract.ts'
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
