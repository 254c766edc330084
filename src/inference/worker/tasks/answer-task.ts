import { planRead, type PlannedMode } from '../../../text/plan.ts'
import { asksForPhrase, instructed } from '../../../text/instruction.ts'
import { fixedLength } from '../../../text/grammar/fill.ts'
import type { AnswerRead } from '../../contract.ts'
import type { Output, OnText, YieldPoint } from '../../protocol.ts'
import { answerResult, generateRequest, replugRequest } from './answer-parts.ts'
import { attendedSentences } from './attended-sentences.ts'
import { generateTask, replugTask } from './generate-task.ts'
import type { ReaderModel } from '../decoder/reader-model.ts'
import { createTextStreamer } from '../decoder/text-streamer.ts'
import { timed } from '../runtime/timed.ts'

/** A request that is answered from one plan. */
export type PlannedRead = AnswerRead & { readonly mode: PlannedMode }

/** Plans the prompt of a question with its passages, and answers. @throws as planRead */
export async function answerTask(
  model: ReaderModel,
  read: PlannedRead,
  yieldPoint: YieldPoint,
  onText?: OnText,
): Promise<Output<'answer'>> {
  const { tokenizer, stopIds, limits } = model
  const wrap = tokenizer.chatWrap(read.chatTemplate ?? 'none', read.earlier)
  const question = instructed(read.question, read.instruction)
  const maxNewTokens = read.maxNewTokens + fixedLength(read.grammar)
  const { result: plan, ms } = await timed(() => planRead({ ...read, question, maxNewTokens, wrap }, limits, tokenizer, yieldPoint))
  const runContext = {
    yieldPoint,
    onToken:
      (onText ?? read.stop) &&
      createTextStreamer({ tokenizer, stopIds, stops: read.stop, heldBack: asksForPhrase(read.instruction), onText }),
  }
  const decoded =
    read.mode === 'replug'
      ? await replugTask(model, replugRequest(read, plan, stopIds), runContext)
      : await generateTask(model, generateRequest(read, plan, stopIds), runContext)
  return {
    ...answerResult({ read, plan, decoded, stopIds, tokenizer }),
    ...(read.attendedSentences && { attended: await attendedSentences({ read, plan, decoded, tokenizer }, yieldPoint) }),
    timingsMs: { plan: ms, ...decoded.timingsMs },
  }
}
