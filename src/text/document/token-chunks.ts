import type { DocumentChunk, DocumentRequest, DocumentSplit } from './request.ts'
import { tooLong } from './request.ts'
import { encodeLong } from '../encode-long.ts'
import type { PromptTokenizer } from '../pack.ts'
import { splitDocument } from './split-document.ts'

/** Chunks as in the paper's evaluation: slices of the document's ids. */
export async function tokenChunks(
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
