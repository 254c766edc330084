import { invalidField } from '../../base/errors.ts'
import type { CepeManifest } from '../../models/manifest.ts'
import type { DocumentRead } from '../inference/contract.ts'
import type { ChatTemplate } from '../text/chat-template.ts'
import { readPromptFile } from '../text/document/request.ts'
import { instructed } from '../text/instruction.ts'
import { renderQuestion } from '../text/prompt.ts'
import { instructionOf, samplingOf } from './resolve-request.ts'
import type { DocumentForm, DocumentResponse } from './document-schema.ts'

/** The decoder's part in the paper's evaluation of long documents, including new tokens. */
const DECODER_TOKENS = 2048
const SUMMARY_TOKENS = 256
/** Chunks that are read one at a time, at most. */
const BEST_CHUNKS = 5
const SUMMARY = 'Write a summary of the document above.'

export interface LoadedDocument {
  readonly text: string
  readonly title: string
  readonly type: DocumentResponse['document']['type']
  /** Offset of each page's first character; empty without pages. */
  readonly pages: readonly number[]
  readonly warnings: readonly string[]
}

export interface DocumentDefaults {
  readonly documentTokens: number
  readonly chatTemplate: ChatTemplate
}

/**
 * Resolves a request's defaults from the model's protocol, and determines the question: the request's, a summary, or the document's own.
 * @throws invalid_request, unprocessable naming the field
 */
export function resolveDocument(
  form: DocumentForm,
  source: Pick<LoadedDocument, 'text' | 'title'>,
  { qa_defaults: defaults, dims, graphs }: CepeManifest,
  { documentTokens, chatTemplate }: DocumentDefaults,
): DocumentRead {
  const { sampling, chat_template: template = chatTemplate } = form
  const asked = questionOf(form, source.text, instructionOf(form, template, defaults).instruction)
  const question = form.question?.trim().normalize()
  // A model that reads passages one at a time chooses, where the request says nothing of what decoder and encoder read.
  const isFree =
    form.decoder_tokens === undefined && form.encoder_tokens === undefined && form.chunking !== 'tokens' && !form.min_new_tokens
  const chunkTokens =
    form.chunk_tokens ?? (dims.encoder_window > 0 ? Math.min(defaults.context_tokens, dims.encoder_window) : defaults.context_tokens)
  if (dims.encoder_window > 0 && chunkTokens > dims.encoder_window)
    throw invalidField('chunk_tokens', `is ${chunkTokens}, but this model's encoder takes ${dims.encoder_window} at most`)
  const maxNewTokens =
    form.max_new_tokens ?? (asked.isLine ? defaults.max_new_tokens : Math.min(SUMMARY_TOKENS, Math.max(1, dims.window >> 1)))
  const minNewTokens = form.min_new_tokens ?? 0
  if (minNewTokens > maxNewTokens)
    throw invalidField('min_new_tokens', `is ${minNewTokens}, more than the ${maxNewTokens} of max_new_tokens`)
  const window = form.decoder_tokens === undefined ? Math.min(dims.window, DECODER_TOKENS) : dims.window
  if (maxNewTokens >= window)
    throw invalidField('max_new_tokens', `is ${maxNewTokens}, which leaves nothing of the decoder's ${window} tokens for the question`)
  return {
    ...asked.parts,
    text: source.text,
    title: source.title,
    chunking: form.chunking ?? (asked.isOwn ? 'tokens' : 'passages'),
    chunkTokens,
    promptTokens: window - maxNewTokens,
    // A model without encoder reads what its prompt holds.
    tailTokens: form.decoder_tokens ?? (graphs.encoder === null ? window : defaults.k_decoder * defaults.context_tokens),
    // Without an encoder nothing can read what stands before it: the response tells how much that is.
    encoderTokens: form.encoder_tokens ?? (graphs.encoder === null ? 0 : null),
    documentTokens,
    chatTemplate: template,
    ...(asked.isLine && instructionOf(form, template, defaults)),
    stopAtLineEnd: asked.isLine,
    maxNewTokens,
    ...(form.max_new_tokens === undefined && asked.isLine && { isDefaultLimit: true }),
    minNewTokens,
    ...(sampling && { sampling: samplingOf(sampling) }),
    includePrompts: form.include_prompts ?? false,
    bestChunks:
      question !== undefined && defaults.mode === 'map-rerank' && isFree
        ? { question, count: Math.min(defaults.k, BEST_CHUNKS) }
        : undefined,
  }
}

/** @param instruction of a question @returns `isLine`: the answer is one line; `isOwn`: the question is in the document */
function questionOf({ question, summarise, instruction: wanted }: DocumentForm, text: string, instruction?: string) {
  if (question !== undefined && summarise === true) throw invalidField('summarise', 'cannot be combined with question: set one of them')
  const whole = { from: 0, to: text.length, head: '' }
  if (question !== undefined)
    return {
      parts: { ...whole, query: `\n\n${renderQuestion(instructed(question.trim().normalize(), instruction))}` },
      isLine: true,
      isOwn: false,
    }
  if (summarise === true)
    return { parts: { ...whole, query: `\n\n${wanted?.trim().normalize() || SUMMARY}\n\nSummary:\n` }, isLine: false, isOwn: false }
  const file = readPromptFile(text)
  const missing = 'is missing: give one, or summarise, or a document between BEGIN and END lines with its question after them'
  if (file === undefined) throw invalidField('question', missing)
  if (wanted !== undefined) throw invalidField('instruction', 'is given with a document that brings its own question: leave it out')
  return { parts: file, isLine: false, isOwn: true }
}
