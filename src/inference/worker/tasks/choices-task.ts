import { at } from '../../../../base/at.ts'
import { CodedError } from '../../../../base/errors.ts'
import { instructed } from '../../../text/instruction.ts'
import { continuationIds } from '../../../text/continuation.ts'
import { frontIds } from '../../../text/pack.ts'
import { planRead } from '../../../text/plan.ts'
import type { ChoicesRead } from '../../contract.ts'
import type { Output, YieldPoint } from '../../protocol.ts'
import { encodeContexts } from '../encoder/encode-contexts.ts'
import type { ReaderModel } from '../decoder/reader-model.ts'
import { score } from '../decoder/step-decoding.ts'

/** Scores each choice as the answer to a question with its passages. @throws unprocessable, and as planRead */
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
  checkChoices(read.choices, continuations, ids.length, limits.window)
  const input = { contexts, contextIds, contextTokens: read.contextTokens }
  const { phi, tokenCounts } = await encodeContexts(model.encoder, input, yieldPoint)
  const logprobs = await score(await model.stepModel(), { promptIds: ids, continuations }, phi, yieldPoint)
  return { logprobs, contextOf, inDecoder, contextTokenCounts: tokenCounts }
}

/** @throws unprocessable naming the choice without tokens, or the lengths that do not fit the window */
function checkChoices(choices: readonly string[], continuations: readonly (readonly number[])[], prompt: number, window: number): void {
  const empty = continuations.findIndex((ids) => ids.length === 0)
  if (empty >= 0)
    throw new CodedError('unprocessable', `The choice ${JSON.stringify(at(choices, empty))} has no tokens.`, { field: 'choices' })
  const longest = Math.max(...continuations.map((ids) => ids.length))
  if (prompt + longest <= window) return
  throw new CodedError(
    'unprocessable',
    `The prompt (${prompt} tokens) and the longest choice (${longest}) exceed the model's window of ${window}: shorten the choices.`,
    { field: 'choices' },
  )
}
