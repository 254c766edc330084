import type { Log } from '../log.ts'
import type { ReaderChildOptions, TaskHandlers } from '../protocol.ts'
import { answerTask } from './answer-task.ts'
import { choicesTask } from './choices-task.ts'
import { createDocumentTask } from './document-task.ts'
import { encodeAhead } from './encode-contexts.ts'
import { generateTask, replugTask } from './generate-task.ts'
import { loadReaderModel } from './reader-model.ts'
import { scoreTask } from './score-task.ts'

/**
 * Loads a reader in this process; what it does of the tasks.
 * Encoder states never leave the process, and texts become tokens here.
 * @param onLoading told when a graph begins to be loaded in the midst of a task, and when it is there
 * @throws model_invalid, provider_unavailable
 */
export async function createReaderTasks(
  options: ReaderChildOptions,
  log: Log,
  onLoading: (loading: boolean) => void,
): Promise<TaskHandlers> {
  const model = await loadReaderModel(options, log, onLoading)
  const { manifest, tokenizer } = model
  return {
    answer: (read, step, say) => answerTask(model, read, step, say),
    choices: (read, step) => choicesTask(model, read, step),
    document: createDocumentTask({ manifest, tokenizer, generate: (request, step) => generateTask(model, request, { step }) }),
    generate: (request, step) => generateTask(model, request, { step }),
    replug: (request, step) => replugTask(model, request, { step }),
    encodeAhead: (input, step) => encodeAhead(model.encoder, input, step),
    score: (request, step) => scoreTask(model, request, step),
  }
}
