import { at } from '../../../../base/at.ts'
import { CodedError, unprocessable } from '../../../../base/errors.ts'
import { instructed } from '../../../text/instruction.ts'
import { frontIds, truncated } from '../../../text/pack.ts'
import { planRead } from '../../../text/plan.ts'
import type { ChoicesRead, LikelihoodRead, ScoreRequest } from '../../contract.ts'
import type { Output, YieldPoint } from '../../protocol.ts'
import { continuationIds } from './answer-tokens.ts'
import { encodeContexts } from '../encoder/encode-contexts.ts'
import type { ReaderModel } from '../decoder/reader-model.ts'
import { score } from '../decoder/step-decoding.ts'
import { BLOCK_SEPARATOR, QUESTION_START, renderPassage } from '../../../text/prompt.ts'
import type { CepeManifest } from '../../../../models/manifest.ts'
import { type MovedKeys, scoreStreaming } from '../decoder/streaming-llm.ts'

/** Scores each choice as the answer to a question with its passages. @throws unprocessable naming the choice without tokens, or the lengths that do not fit the window; as planRead */
export async function choicesTask(model: ReaderModel, read: ChoicesRead, yieldPoint: YieldPoint): Promise<Output<'choices'>> {
  const { tokenizer, limits } = model
  const wrap = tokenizer.chatWrap(read.chatTemplate ?? 'none', read.earlier)
  const question = instructed(read.question, read.instruction)
  const { prompts, contexts, contextIds, contextOf, inDecoder } = await planRead({ ...read, question, wrap }, limits, tokenizer, yieldPoint)
  const { text, ids } = at(prompts, 0)
  const bare = ids.slice(frontIds(tokenizer, wrap).length)
  const continuations: number[][] = []
  for (const choice of read.choices) {
    await yieldPoint()
    continuations.push(continuationIds(text, bare, choice.trim(), tokenizer))
  }
  const empty = continuations.findIndex(({ length }) => length === 0)
  if (empty >= 0) throw unprocessable('choices', `The choice ${JSON.stringify(at(read.choices, empty))} has no tokens.`)
  const longest = Math.max(...continuations.map(({ length }) => length))
  const problem = `The prompt (${ids.length} tokens) and the longest choice (${longest}) exceed the model's window of ${limits.window}`
  if (ids.length + longest > limits.window) throw unprocessable('choices', `${problem}: shorten the choices.`)
  const input = { contexts, contextIds, contextTokens: read.contextTokens }
  const { phi, tokenCounts } = await encodeContexts(model.encoder, input, yieldPoint)
  const logprobs = await score(await model.stepModel(), { promptIds: ids, continuations }, phi, yieldPoint)
  return { logprobs, contextOf, inDecoder, contextTokenCounts: tokenCounts }
}

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
    throw unprocessable('query', `The query takes ${around} of the ${limits.window} tokens of the model's window: shorten it.`)
  const stepModel = await model.stepModel()
  const logprobs: number[][] = []
  let promptTokens = 0
  for (const passage of read.passages) {
    await yieldPoint()
    const shown = truncated(renderPassage(passage), Math.min(read.contextTokens, room), tokenizer).text
    const text = `${shown}${BLOCK_SEPARATOR}${QUESTION_START}`
    const bare = tokenizer.encode(text)
    const promptIds = [...frontIds(tokenizer), ...bare]
    const continuations = [continuationIds(text, bare, question, tokenizer)]
    logprobs.push(...(await score(stepModel, { promptIds, continuations }, phi, yieldPoint)))
    promptTokens += promptIds.length
  }
  return { logprobs, promptTokens }
}

/** Scores continuations of a prompt, read at once or as a stream. @throws model_invalid and unsupported if streaming is not possible */
export async function scoreTask(model: ReaderModel, request: ScoreRequest, yieldPoint: YieldPoint): Promise<Output<'score'>> {
  const { phi } = await encodeContexts(model.encoder, request, yieldPoint)
  return request.streaming
    ? scoreStreaming(await model.stepModel(), request, request.streaming, { rotary: rotaryOf(model.manifest), phi, yieldPoint })
    : score(await model.stepModel(), request, phi, yieldPoint)
}

/** @throws model_invalid if the manifest of an older build lacks the frequencies, unsupported if the model has none */
function rotaryOf({ rotary }: CepeManifest): MovedKeys {
  if (rotary && 'frequencies' in rotary) return rotary
  const message = 'The manifest does not contain the rotary frequencies that a streaming cache needs: build the model again (cepe build).'
  if (rotary === undefined) throw new CodedError('model_invalid', message)
  throw new CodedError('unsupported', 'A streaming cache shifts keys by whole positions, which this rotary embedding does not allow.')
}
