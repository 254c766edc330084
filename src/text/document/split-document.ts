import { CodedError } from '../../../base/errors.ts'

export interface SplitOptions {
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

export interface SplitDocument {
  readonly promptIds: readonly number[]
  /** In document order. */
  readonly contextIds: readonly (readonly number[])[]
}

/**
 * Splits a document's tokens: the end goes to the decoder, before the question; the rest to the encoder in chunks, cut from the end, so
 * that the shorter chunk is the first. Every token is read by exactly one side, or, beyond `encoderTokens`, by none.
 * @throws unprocessable if the question alone does not fit
 */
export function splitDocument({
  documentIds,
  headIds = [],
  questionIds,
  decoderTokens,
  encoderTokens,
  chunkTokens,
}: SplitOptions): SplitDocument {
  const room = decoderTokens - questionIds.length - headIds.length
  if (room < 0 || questionIds.length + headIds.length === 0)
    throw new CodedError(
      'unprocessable',
      `The question has ${questionIds.length} tokens, but the decoder's prompt may have ${decoderTokens}.`,
    )
  const from = Math.max(0, documentIds.length - room)
  const contextIds: (readonly number[])[] = []
  for (let end = from; end > Math.max(0, from - encoderTokens); end -= chunkTokens)
    contextIds.unshift(documentIds.slice(Math.max(0, from - encoderTokens, end - chunkTokens), end))
  return { promptIds: [...headIds, ...documentIds.slice(from), ...questionIds], contextIds }
}
