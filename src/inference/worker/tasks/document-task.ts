import { unprocessable } from '../../../../base/errors.ts'
import { asksForPhrase, withoutPhrase } from '../../../text/instruction.ts'
import { planDocument } from '../../../text/document/plan-document.ts'
import type { DocumentChunk } from '../../../text/document/request.ts'
import type { DocumentRead } from '../../contract.ts'
import type { Output, YieldPoint } from '../../protocol.ts'
import { generateTask } from './generate-task.ts'
import { textToStop } from '../decoder/text-streamer.ts'
import { at, sum } from '../../../../base/at.ts'
import { passageChunks } from '../../../text/document/passage-chunks.ts'
import { rankByWords } from '../../../text/words.ts'
import type { ReaderModel } from '../decoder/reader-model.ts'
import { timed } from '../runtime/timed.ts'
import { writtenAnswerTask } from './written-answer.ts'

/** Attention output per run, in bytes: a longer answer from more chunks is decoded token by token. */
const MOST_ATTENTION_BYTES = 2 ** 31
const FLOAT_BYTES = 4

/** Splits a document between encoder and decoder, and answers. @throws as planDocument; unsupported for a chat template */
export async function documentTask(model: ReaderModel, read: DocumentRead, yieldPoint: YieldPoint): Promise<Output<'document'>> {
  const { manifest, tokenizer } = model
  const wrap = tokenizer.chatWrap(read.chatTemplate)
  const { result: plan, ms } = await timed(() => planDocument(read, wrap, tokenizer, yieldPoint))
  const unread = `This model has no encoder, and its prompt holds ${plan.tail?.tokens ?? 0} of the document's ${plan.tokens} tokens: leave encoder_tokens out to have its end read alone.`
  if (manifest.graphs.encoder === null && plan.contextIds.length > 0) throw unprocessable('encoder_tokens', unread)
  const stopIds = read.stopAtLineEnd ? tokenizer.stopIds('\n') : manifest.tokens.eos_ids
  // Of the prompt to the contexts in one layer, and of the new tokens, which is an output.
  const attended = manifest.dims.heads * plan.promptIds.length + read.maxNewTokens
  const attentionBytes = FLOAT_BYTES * sum(plan.contextIds.map(({ length }) => length)) * attended
  const decoded = await generateTask(
    model,
    {
      promptIds: plan.promptIds,
      contexts: [],
      contextIds: plan.contextIds,
      contextTokens: Math.max(1, read.chunkTokens),
      stopIds,
      maxNewTokens: read.maxNewTokens,
      minNewTokens: read.minNewTokens,
      stepwise: attentionBytes > MOST_ATTENTION_BYTES,
      sampling: read.sampling,
    },
    { yieldPoint },
  )
  const { text, stopped } = textToStop(decoded.tokenIds, stopIds, tokenizer)
  const answer = text.trim()
  return {
    text: asksForPhrase(read.instruction) ? withoutPhrase(answer) : answer,
    stopped,
    logprobs: decoded.logprobs,
    chunks: plan.chunks,
    contextShares: decoded.contextShares,
    inDecoder: plan.tail ? [plan.tail] : [],
    documentTokens: plan.tokens,
    promptTokens: plan.promptIds.length,
    prompts: read.includePrompts ? [plan.promptText] : [],
    contexts: read.includePrompts ? plan.contextIds.map((ids) => tokenizer.decode(ids)) : [],
    timingsMs: { plan: ms, ...decoded.timingsMs },
  }
}

/**
 * Answers from a document's top-ranked chunks, read one at a time, for a model whose mode is map-rerank.
 * @throws payload_too_large for a document of too many tokens; as answerTask
 */
export async function bestChunksTask(
  model: ReaderModel,
  read: DocumentRead,
  { question, count }: NonNullable<DocumentRead['bestChunks']>,
  yieldPoint: YieldPoint,
): Promise<Output<'document'>> {
  const { result: split, ms } = await timed(() => passageChunks({ ...read, encoderTokens: null }, 0, model.tokenizer, yieldPoint))
  const texts = split.passages.map(({ title, text }) => `${title} ${text}`)
  const best = rankByWords(question, texts).slice(0, count)
  const answer = await writtenAnswerTask(
    model,
    {
      question,
      mode: 'map-rerank',
      passages: best.map(({ index, score }) => ({ ...at(split.passages, index), score })),
      kDecoder: model.manifest.qa_defaults.k_decoder,
      encoderPassages: 'others',
      demonstrations: [],
      contextTokens: read.chunkTokens,
      maxNewTokens: read.maxNewTokens,
      isDefaultLimit: read.isDefaultLimit,
      packing: 'passages',
      chatTemplate: read.chatTemplate,
      instruction: read.instruction,
      focus: model.manifest.qa_defaults.focus,
      sampling: read.sampling,
      replugTemperature: 1,
      includePrompts: read.includePrompts,
    },
    yieldPoint,
  )
  const chunksOf = (isRead: (rank: number) => boolean): DocumentChunk[] =>
    best.flatMap(({ index }, rank) => (isRead(rank) ? at(split.chunks, index) : []))
  return {
    ...answer,
    ...answer.written,
    chunks: chunksOf((rank) => at(answer.contextOf, rank) >= 0),
    inDecoder: chunksOf((rank) => at(answer.inDecoder, rank)),
    documentTokens: split.tokens,
    timingsMs: { ...answer.timingsMs, plan: ms + answer.timingsMs.plan },
  }
}
