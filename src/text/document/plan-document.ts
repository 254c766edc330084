import { CodedError } from '../../../base/errors.ts'
import type { Wrap } from '../chat-template.ts'
import { passageChunks } from './passage-chunks.ts'
import type { DocumentPlan, DocumentRequest } from './request.ts'
import { tokenChunks } from './token-chunks.ts'
import { frontIds, type PromptTokenizer } from '../pack.ts'

/** Granularity of the decoder's part: questions of other lengths then share chunks, whose states are cached. */
const TAIL_STEP = 32

/**
 * Splits a document between decoder and encoder: its end is in the prompt before the question, the rest is cut into chunks. Every part is
 * read by one side, or, beyond `encoderTokens`, by none.
 * @param yieldPoint awaited between parts
 * @throws unprocessable if the question alone does not fit; payload_too_large if the document has too many tokens
 */
export async function planDocument(
  request: DocumentRequest,
  wrap: Wrap,
  tokenizer: PromptTokenizer,
  yieldPoint: () => Promise<void>,
): Promise<DocumentPlan> {
  const { text, to, promptTokens, tailTokens } = request
  const front = frontIds(tokenizer, wrap)
  const render = (tail: string): string =>
    `${wrap.before}${request.head}${tail}${tail === '' ? request.query.trimStart() : request.query}${wrap.after}`
  const encode = (tail: string): number[] => [...front, ...tokenizer.encode(render(tail), { maxTokens: promptTokens + 1 })]
  const bare = encode('')
  if (bare.length > promptTokens)
    throw new CodedError(
      'unprocessable',
      `The question has more tokens than the ${promptTokens} that the decoder's prompt may have: shorten it, or lower max_new_tokens.`,
      { field: 'question' },
    )
  const room = Math.floor(Math.min(tailTokens, promptTokens - bare.length) / TAIL_STEP) * TAIL_STEP
  const split = await (request.chunking === 'tokens' ? tokenChunks : passageChunks)(request, room, tokenizer, yieldPoint)
  // Tokenised as one text, as in training; if that takes more tokens than the parts, the document's part is shortened.
  const promptIds = encode(text.slice(split.tailStart, to))
  if (promptIds.length > promptTokens) return planDocument({ ...request, tailTokens: room - TAIL_STEP }, wrap, tokenizer, yieldPoint)
  return {
    promptIds,
    promptText: render(text.slice(split.tailStart, to)),
    contextIds: split.contextIds,
    chunks: split.chunks,
    tail: split.tailStart < to ? { start: split.tailStart, end: to, tokens: split.tailTokens } : null,
    tokens: split.tokens,
  }
}
