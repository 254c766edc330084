import { planRead, type PlannedMode, type ReadPlan } from '../../../text/plan.ts'
import { asksForPhrase, instructed } from '../../../text/instruction.ts'
import type { Output, OnText, YieldPoint } from '../../protocol.ts'
import { answerResult, generateRequest, passageWeights, replugRequest, attendedSentences, type Unplanned } from './answer-parts.ts'
import { expertsTask, generateTask, replugTask } from './generate-task.ts'
import type { ReaderModel } from '../decoder/reader-model.ts'
import type { RunContext } from '../decoder/step-decoding.ts'
import { createTextStreamer } from '../decoder/text-streamer.ts'
import { timed } from '../runtime/timed.ts'

export type Answer = Output<'answer'>
/** A request that is answered from one plan. */
export type PlannedRead = Unplanned & { readonly mode: PlannedMode }

/** Plans the prompt of a question with its passages, and answers. @throws as planRead */
export async function answerTask(model: ReaderModel, read: PlannedRead, yieldPoint: YieldPoint, onText?: OnText): Promise<Answer> {
  const { tokenizer, stopIds, limits } = model
  const wrap = tokenizer.chatWrap(read.chatTemplate ?? 'none', read.earlier)
  const question = instructed(read.question, read.instruction)
  const { result: planned, ms } = await timed(() => planRead({ ...read, question, wrap }, limits, tokenizer, yieldPoint))
  const runContext = {
    yieldPoint,
    onToken:
      (onText ?? read.stop) &&
      createTextStreamer({ tokenizer, stopIds, stops: read.stop, heldBack: asksForPhrase(read.instruction), onText }),
  }
  const { plan, decoded } = await decode(model, read, planned, runContext)
  return {
    ...answerResult({ read, plan, decoded, stopIds, tokenizer }),
    ...(read.attendedSentences && { attended: await attendedSentences({ read, plan, decoded, tokenizer }, yieldPoint) }),
    timingsMs: { plan: ms, ...decoded.timingsMs },
  }
}

/** Decodes in the request's mode. @returns the plan of the passages that were read, too */
async function decode(model: ReaderModel, read: PlannedRead, plan: ReadPlan, runContext: RunContext) {
  const { stopIds } = model
  if (read.mode === 'replug') return { plan, decoded: await replugTask(model, replugRequest(read, plan, stopIds), runContext) }
  if (read.mode !== 'experts') return { plan, decoded: await generateTask(model, generateRequest(read, plan, stopIds), runContext) }
  const weights = read.passages.length === 0 ? [1] : passageWeights(read.passages)
  const { promptsRead, ...decoded } = await expertsTask(model, replugRequest(read, plan, stopIds), weights, runContext)
  const inDecoder = plan.inDecoder.map((fits, i) => fits && i < promptsRead)
  return { plan: { ...plan, inDecoder, prompts: plan.prompts.slice(0, promptsRead) }, decoded }
}
