import { CodedError } from '../../../../base/errors.ts'
import { continuationIds } from '../../../text/continuation.ts'
import { frontIds } from '../../../text/pack.ts'
import { BLOCK_SEPARATOR, QUESTION_START, renderPassage, type PromptPassage } from '../../../text/prompt.ts'
import type { LikelihoodRead } from '../../contract.ts'
import type { Output, YieldPoint } from '../../protocol.ts'
import { encodeContexts } from '../encoder/encode-contexts.ts'
import type { ReaderModel } from '../decoder/reader-model.ts'
import { score } from '../decoder/step-decoding.ts'

/** Minimum tokens of a passage for a meaningful comparison. */
const LEAST_PASSAGE_TOKENS = 8

/**
 * Likelihood of a question after each passage (Sachan et al., 2022, "Improving Passage Retrieval with Zero-Shot Question Generation"). Each
 * passage is in the decoder's prompt as for an answer; one prompt per passage.
 * @throws unprocessable if the question leaves no room for a passage in the window
 */
export async function likelihoodTask(model: ReaderModel, read: LikelihoodRead, yieldPoint: YieldPoint): Promise<Output<'likelihoods'>> {
  const { tokenizer, limits, encoder } = model
  const { phi } = await encodeContexts(encoder, { contexts: [], contextTokens: 1 }, yieldPoint)
  const question = read.question.trim()
  const around = tokenizer.encode(`${BLOCK_SEPARATOR}${QUESTION_START} ${question}\n`).length + frontIds(tokenizer).length
  // Texts tokenised together may have one more token at a boundary.
  const room = limits.window - around - 2
  if (room < LEAST_PASSAGE_TOKENS)
    throw new CodedError('unprocessable', `The query takes ${around} of the ${limits.window} tokens of the model's window: shorten it.`, {
      field: 'query',
    })
  const stepModel = await model.stepModel()
  const logprobs: number[][] = []
  let promptTokens = 0
  for (const passage of read.passages) {
    await yieldPoint()
    const text = `${cut(passage, Math.min(read.contextTokens, room), tokenizer)}${BLOCK_SEPARATOR}${QUESTION_START}`
    const bare = tokenizer.encode(text)
    const promptIds = [...frontIds(tokenizer), ...bare]
    const continuations = [continuationIds(text, bare, question, tokenizer)]
    logprobs.push(...(await score(stepModel, { promptIds, continuations }, phi, yieldPoint)))
    promptTokens += promptIds.length
  }
  return { logprobs, promptTokens }
}

/** A passage as in prompts, truncated to a number of tokens. */
function cut(passage: PromptPassage, maxTokens: number, tokenizer: ReaderModel['tokenizer']): string {
  const text = renderPassage(passage)
  const ids = tokenizer.encode(text, { maxTokens })
  return ids.length < maxTokens ? text : tokenizer.decode(ids)
}
