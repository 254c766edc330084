import { CodedError } from '../../../base/errors.ts'
import type { Span } from '../../../base/sentences.ts'

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
  readonly promptTokens: number
  /** Maximum tokens of the document in the prompt, from its end. */
  readonly tailTokens: number
  /** Maximum tokens of the document in the encoder, backwards from the decoder's part; null for all. */
  readonly encoderTokens: number | null
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
  const message = `The document has more than ${documentTokens} tokens: send a part of it, index it as passages, or raise CEPE_DOCUMENT_TOKENS.`
  return new CodedError('payload_too_large', message, { field: 'text' })
}

/** A line `=== BEGIN ===` or `=== BEGIN OF FILE ===`, and one `=== END ===` or `=== END OF FILE ===`. */
const BEGIN = /^=== *BEGIN(?: OF FILE)? *===[^\S\n]*\r?$\n?/m
const END = /^=== *END(?: OF FILE)? *===[^\S\n]*\r?$/gm

/**
 * Parses a text with instruction, document and question, with the document between a BEGIN and an END line (as in the long-paper prompts of
 * Chen et al., 2023, "Extending context window of large language models via position interpolation"); undefined for other texts. The last
 * END line counts: a paper may contain one.
 */
export function readPromptFile(text: string): Pick<DocumentRequest, 'head' | 'from' | 'to' | 'query'> | undefined {
  const begin = BEGIN.exec(text)
  if (begin === null) return undefined
  const from = begin.index + begin[0].length
  const end = [...text.matchAll(END)].findLast(({ index }) => index >= from)
  if (end === undefined || text.slice(end.index + end[0].length).trim() === '') return undefined
  // The line break before the marker belongs to the query, which is then unchanged.
  const to = Math.max(from, end.index - 1)
  return { head: text.slice(0, from), from, to, query: text.slice(to) }
}
