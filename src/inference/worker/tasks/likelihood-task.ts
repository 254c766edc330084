import { CodedError } from '../../../../base/errors.ts'
import { continuationIds } from '../../../text/continuation.ts'
import { frontIds } from '../../../text/pack.ts'
import { BLOCK_SEPARATOR, QUESTION_START, renderPassage, type PromptPassage } from '../../../text/prompt.ts'
import type { LikelihoodRead } from '../../contract.ts'
import type { Output, YieldPoint } from '../../protocol.ts'
import { encodeContexts } from '../encoder/encode-contexts.ts'
import type { ReaderModel } from '../decoder/reader-model.ts'
import { score } from '../decoder/step-decoding.ts'

/** Tokens of a passage below which comparing passages says nothing. */
const LEAST_PASSAGE_TOKENS = 8

/**
 * How likely a question is after each passage (Sachan et al., 2022, "Improving Passage Retrieval with Zero-Shot Question Generation").
 * The passage stands in the decoder's prompt as it does when a question is answered; one prompt a passage.
 * @throws unprocessable where the question leaves a passage no room in the window
 */
export async function likelihoodTask(model: ReaderModel, read: LikelihoodRead, step: YieldPoint): Promise<Output<'likelihoods'>> {
  const { tokenizer, limits, encoder } = model
  const { phi } = await encodeContexts(encoder, { contexts: [], contextTokens: 1 }, step)
  const question = read.question.trim()
  const around = tokenizer.encode(`${BLOCK_SEPARATOR}${QUESTION_START} ${question}\n`).length + frontIds(tokenizer).length
  // Texts tokenised together may have a token more at a border.
  const room = limits.window - around - 2
  if (room < LEAST_PASSAGE_TOKENS)
    throw new CodedError('unprocessable', `The query takes ${around} of the ${limits.window} tokens of the model's window: shorten it.`, {
      field: 'query',
    })
  const stepModel = await model.stepModel()
  const logprobs: number[][] = []
  let promptTokens = 0
  for (const passage of read.passages) {
    await step()
    const text = `${cut(passage, Math.min(read.contextTokens, room), tokenizer)}${BLOCK_SEPARATOR}${QUESTION_START}`
    const bare = tokenizer.encode(text)
    const promptIds = [...frontIds(tokenizer), ...bare]
    const continuations = [continuationIds(text, bare, question, tokenizer)]
    logprobs.push(...(await score(stepModel, { promptIds, continuations }, phi, step)))
    promptTokens += promptIds.length
  }
  return { logprobs, promptTokens }
}

/** A passage as prompts show it, up to a number of tokens. */
function cut(passage: PromptPassage, maxTokens: number, tokenizer: ReaderModel['tokenizer']): string {
  const text = renderPassage(passage)
  const ids = tokenizer.encode(text, { maxTokens })
  return ids.length < maxTokens ? text : tokenizer.decode(ids)
}
