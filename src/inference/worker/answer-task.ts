import { planRead } from '../../text/plan.ts'
import type { AnswerRead } from '../contract.ts'
import type { Output, Say, Step } from '../protocol.ts'
import { answerResult, generateRequest, replugRequest } from './answer-parts.ts'
import { attendedSentences } from './attended.ts'
import { generateTask, replugTask } from './generate-task.ts'
import type { ReaderModel } from './reader-model.ts'
import { createSpeaker } from './speaker.ts'
import { timed } from './timed.ts'

/** Plans the prompt of a question with its passages, and answers. @throws as planRead */
export async function answerTask(model: ReaderModel, read: AnswerRead, step: Step, say?: Say): Promise<Output<'answer'>> {
  const { tokenizer, stopIds, limits } = model
  const wrap = tokenizer.chatWrap(read.chatTemplate ?? 'none', read.earlier)
  const { result: plan, ms } = await timed(() => planRead({ ...read, wrap }, limits, tokenizer, step))
  const course = { step, onToken: (say ?? read.stop) && createSpeaker({ tokenizer, stopIds, stops: read.stop, say }) }
  const decoded =
    read.mode === 'replug'
      ? await replugTask(model, replugRequest(read, plan, stopIds), course)
      : await generateTask(model, generateRequest(read, plan, stopIds), course)
  return {
    ...answerResult({ read, plan, decoded, stopIds, tokenizer }),
    ...(read.attendedSentences && { attended: await attendedSentences({ read, plan, decoded, tokenizer }, step) }),
    timingsMs: { plan: ms, ...decoded.timingsMs },
  }
}
