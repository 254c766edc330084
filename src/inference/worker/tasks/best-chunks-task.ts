import { at } from '../../../../base/at.ts'
import { passageChunks } from '../../../text/document/passage-chunks.ts'
import { rankByWords } from '../../../text/document/rank-by-words.ts'
import type { DocumentChunk } from '../../../text/document/request.ts'
import type { BestChunks, DocumentRead } from '../../contract.ts'
import type { Output, YieldPoint } from '../../protocol.ts'
import type { ReaderModel } from '../decoder/reader-model.ts'
import { timed } from '../runtime/timed.ts'
import { writtenAnswerTask } from './written-answer-task.ts'

/**
 * Answers from a document's top-ranked chunks, read one at a time, for a model whose mode is map-rerank.
 * @throws payload_too_large for a document of too many tokens; as answerTask
 */
export async function bestChunksTask(
  model: ReaderModel,
  read: DocumentRead,
  { question, count }: BestChunks,
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
      packing: 'passages',
      chatTemplate: read.chatTemplate,
      instruction: read.instruction,
      sampling: read.sampling,
      replugTemperature: 1,
      includePrompts: read.includePrompts,
    },
    yieldPoint,
  )
  const { text, stopped, logprobs } = answer.written ?? answer
  const { contextShares, promptTokens, prompts, contexts, timingsMs } = answer
  const chunksOf = (isRead: (rank: number) => boolean): DocumentChunk[] =>
    best.flatMap(({ index }, rank) => (isRead(rank) ? at(split.chunks, index) : []))
  return {
    text,
    stopped,
    logprobs,
    chunks: chunksOf((rank) => at(answer.contextOf, rank) >= 0),
    contextShares,
    inDecoder: chunksOf((rank) => at(answer.inDecoder, rank)),
    documentTokens: split.tokens,
    promptTokens,
    prompts,
    contexts,
    timingsMs: { ...timingsMs, plan: ms + timingsMs.plan },
  }
}
