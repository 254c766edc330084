import { unprocessable } from '../../../base/errors.ts'
import type { Wrap } from '../chat-template.ts'
import { passageChunks } from './passage-chunks.ts'
import { type DocumentChunk, type DocumentPlan, type DocumentRequest, type DocumentSplit, tooLong } from './request.ts'
import { type PromptTokenizer, frontIds } from '../pack.ts'
import { encodeLong } from '../encode-long.ts'

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
  const tooLarge = `The question has more tokens than the ${promptTokens} that the decoder's prompt may have: shorten it, or lower max_new_tokens.`
  if (bare.length > promptTokens) throw unprocessable('question', tooLarge)
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

/** Chunks as in the paper's evaluation: slices of the document's ids. */
async function tokenChunks(
  { text, from, to, chunkTokens, encoderTokens, documentTokens }: DocumentRequest,
  room: number,
  tokenizer: PromptTokenizer,
  yieldPoint: () => Promise<void>,
): Promise<DocumentSplit> {
  const encoding = await encodeLong(text.slice(from, to), tokenizer, async (tokens) => {
    if (tokens > documentTokens) throw tooLong(documentTokens)
    await yieldPoint()
  })
  const { ids } = encoding
  if (ids.length > documentTokens) throw tooLong(documentTokens)
  // One token stands for the question, whose content does not matter here.
  const { contextIds, promptIds } = splitDocument({
    documentIds: ids,
    questionIds: [0],
    decoderTokens: room + 1,
    encoderTokens: encoderTokens ?? Infinity,
    chunkTokens,
  })
  const tail = ids.length - (promptIds.length - 1)
  let token = tail - contextIds.reduce((sum, context) => sum + context.length, 0)
  let start = from + encoding.startOf(token)
  const chunks: DocumentChunk[] = []
  for (const { length: tokens } of contextIds) {
    await yieldPoint()
    token += tokens
    const end = from + encoding.startOf(token)
    chunks.push({ start, end, tokens })
    start = end
  }
  return { contextIds, chunks, tailStart: from + encoding.startOf(tail), tailTokens: ids.length - tail, tokens: ids.length }
}

export type SplitDocument = ReturnType<typeof splitDocument>

interface SplitOptions {
  readonly documentIds: readonly number[]
  /** Tokens before the document's end, never truncated (BOS, start of a chat template). */
  readonly headIds?: readonly number[]
  /** Tokens after the document, never truncated: instruction and question. */
  readonly questionIds: readonly number[]
  /** Maximum tokens of the decoder's prompt. */
  readonly decoderTokens: number
  /** Maximum tokens of the document in the encoder, backwards from the decoder's part; Infinity for all. */
  readonly encoderTokens: number
  readonly chunkTokens: number
}

/**
 * Splits a document's tokens: the end goes to the decoder, before the question; the rest to the encoder in chunks, cut from the end, so
 * that the shorter chunk is the first. Every token is read by exactly one side, or, beyond `encoderTokens`, by none.
 * @throws unprocessable if the question alone does not fit
 */
export function splitDocument({ documentIds, headIds = [], questionIds, decoderTokens, encoderTokens, chunkTokens }: SplitOptions) {
  const room = decoderTokens - questionIds.length - headIds.length
  const tooLarge = `The question has ${questionIds.length} tokens, but the decoder's prompt may have ${decoderTokens}.`
  if (room < 0 || questionIds.length + headIds.length === 0) throw unprocessable(undefined, tooLarge)
  const from = Math.max(0, documentIds.length - room)
  const contextIds: (readonly number[])[] = []
  for (let end = from; end > Math.max(0, from - encoderTokens); end -= chunkTokens)
    contextIds.unshift(documentIds.slice(Math.max(0, from - encoderTokens, end - chunkTokens), end))
  return { promptIds: [...headIds, ...documentIds.slice(from), ...questionIds], contextIds }
}
