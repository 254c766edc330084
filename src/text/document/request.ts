import { CodedError } from '../../../base/errors.ts'
import type { Span } from '../sentences.ts'

export const CHUNKINGS = ['passages', 'tokens'] as const

/** A document question with all options resolved. */
export interface DocumentRequest {
  readonly text: string
  /** Offset of the document within the text; the rest is in `head` and `query`. */
  readonly from: number
  readonly to: number
  /** Text before the document in the prompt, never truncated. */
  readonly head: string
  /** Text after it, never truncated: instruction and question. */
  readonly query: string
  /** The document's title, before each passage with its heading. */
  readonly title: string
  /**
   * passages: units of text (sentences, headings) are packed into chunks that are rendered as passages with the title; tokens: slices of
   * the document's tokens, aligned to the start of the decoder's part, as in the paper's evaluation.
   */
  readonly chunking: (typeof CHUNKINGS)[number]
  readonly chunkTokens: number
  /** Maximum tokens of the prompt. */
  readonly promptTokens: number
  /** Maximum tokens of the document in the prompt, from its end. */
  readonly tailTokens: number
  /** Maximum tokens of the document in the encoder, backwards from the decoder's part; null for all. */
  readonly encoderTokens: number | null
  /** Maximum tokens of a document. */
  readonly documentTokens: number
}

/** Range of the document (of its text, including `from`) that one side reads together. */
export interface DocumentChunk extends Span {
  readonly tokens: number
}

/** Division of a document between both sides. */
export interface DocumentSplit {
  /** In document order. */
  readonly contextIds: readonly (readonly number[])[]
  /** Range of each context in the text. */
  readonly chunks: readonly DocumentChunk[]
  /** Offset of the decoder's part; the document's end if it has none. */
  readonly tailStart: number
  /** Tokens of the decoder's part. */
  readonly tailTokens: number
  /** Tokens of the whole document. */
  readonly tokens: number
}

export interface DocumentPlan extends Pick<DocumentSplit, 'contextIds' | 'chunks' | 'tokens'> {
  readonly promptIds: readonly number[]
  readonly promptText: string
  /** The document's part in the prompt; null for none. */
  readonly tail: DocumentChunk | null
}

/** Error for a document above the limit. */
export function tooLong(documentTokens: number): CodedError {
  return new CodedError(
    'payload_too_large',
    `The document has more than ${documentTokens} tokens: send a part of it, index it as passages, or raise CEPE_DOCUMENT_TOKENS.`,
    { field: 'text' },
  )
}
