import { CodedError } from '../../../base/errors.ts'

export interface SplitOptions {
  readonly documentIds: readonly number[]
  /** What stands in front of the document's tail, always whole (BOS, a chat template's opening). */
  readonly headIds?: readonly number[]
  /** What follows the document, always whole: instruction and question. */
  readonly questionIds: readonly number[]
  /** Most prompt tokens of the decoder. */
  readonly decoderTokens: number
  /** Most tokens of the document in the encoder, from where the decoder's part begins backwards; Infinity for all. */
  readonly encoderTokens: number
  readonly chunkTokens: number
}

export interface SplitDocument {
  readonly promptIds: readonly number[]
  /** In the order of the document. */
  readonly contextIds: readonly (readonly number[])[]
}

/**
 * The end of a document to the decoder, in front of the question; what comes before it in chunks to the encoder, cut from
 * the end, so that the remainder is the earliest text. Every token of the document reaches exactly one side, or, beyond
 * `encoderTokens`, none.
 * @throws unprocessable where the question alone does not fit
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
