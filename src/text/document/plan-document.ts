import { CodedError } from '../../../base/errors.ts'
import type { Wrap } from '../chat-template.ts'
import { passageChunks } from './passage-chunks.ts'
import type { DocumentPlan, DocumentRequest } from './request.ts'
import { tokenChunks } from './token-chunks.ts'
import { frontIds, type PromptTokenizer } from '../pack.ts'

/** Lengths of tails differ by so much: questions of another length then find the same chunks, whose states are cached. */
const TAIL_STEP = 32

/**
 * Divides a document between decoder and encoder: its end stands in the prompt in front of the question, what comes before
 * it is cut into chunks. Every part reaches one side, or, beyond `encoderTokens`, none.
 * @param step awaited between pieces
 * @throws unprocessable where the question alone does not fit; payload_too_large where the document has too many tokens
 */
export async function planDocument(
  request: DocumentRequest,
  wrap: Wrap,
  tokenizer: PromptTokenizer,
  step: () => Promise<void>,
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
  const split = await (request.chunking === 'tokens' ? tokenChunks : passageChunks)(request, room, tokenizer, step)
  // Tokenised as one text, as the model was trained; where that takes more tokens than its parts, the tail gives some up.
  const promptIds = encode(text.slice(split.tailStart, to))
  if (promptIds.length > promptTokens) return planDocument({ ...request, tailTokens: room - TAIL_STEP }, wrap, tokenizer, step)
  return {
    promptIds,
    promptText: render(text.slice(split.tailStart, to)),
    contextIds: split.contextIds,
    chunks: split.chunks,
    tail: split.tailStart < to ? { start: split.tailStart, end: to, tokens: split.tailTokens } : null,
    tokens: split.tokens,
  }
}
