import { CodedError } from '../../../base/errors.ts'

export const CHUNKINGS = ['passages', 'tokens'] as const

/** A document with what is asked about it, every option settled. */
export interface DocumentRequest {
  readonly text: string
  /** The document's part of the text, characters; the rest is in `head` and `query`. */
  readonly from: number
  readonly to: number
  /** What stands in front of the document in the prompt, always whole. */
  readonly head: string
  /** What follows it, always whole: instruction and question. */
  readonly query: string
  /** What the document is called; stands in front of each passage with its heading. */
  readonly title: string
  /**
   * passages: units of text (sentences, headings) are packed into chunks that are rendered as passages with the title;
   * tokens: slices of the document's tokens, cut from where the decoder's part begins, as in the published evaluation.
   */
  readonly chunking: (typeof CHUNKINGS)[number]
  readonly chunkTokens: number
  /** Most tokens of the prompt. */
  readonly promptTokens: number
  /** Most tokens of the document in the prompt, from its end. */
  readonly tailTokens: number
  /** Most tokens of the document in the encoder, from where the decoder's part begins backwards; null for all. */
  readonly encoderTokens: number | null
  /** Most tokens of a document. */
  readonly documentTokens: number
}

/** Characters of the document (of its text, `from` not subtracted) that one side reads together. */
export interface DocumentChunk {
  readonly start: number
  readonly end: number
  readonly tokens: number
}

export interface DocumentPlan {
  readonly promptIds: readonly number[]
  readonly promptText: string
  /** In the order of the document. */
  readonly contextIds: readonly (readonly number[])[]
  /** Of each context its place in the text. */
  readonly chunks: readonly DocumentChunk[]
  /** What the prompt holds of the document; null for none of it. */
  readonly tail: DocumentChunk | null
  /** Tokens of the whole document. */
  readonly tokens: number
}

/** What of a document goes to which side. */
export interface DocumentSplit {
  readonly contextIds: readonly (readonly number[])[]
  readonly chunks: readonly DocumentChunk[]
  /** Character at which the decoder's part begins; the document's end where it has none. */
  readonly tailStart: number
  /** Tokens of the decoder's part. */
  readonly tailTokens: number
  readonly tokens: number
}

/** The error for a document beyond its bound. */
export function tooLong(documentTokens: number): CodedError {
  return new CodedError(
    'payload_too_large',
    `The document has more than ${documentTokens} tokens: send a part of it, index it as passages, or raise CEPE_DOCUMENT_TOKENS.`,
    { field: 'text' },
  )
}
