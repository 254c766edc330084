import type { Log } from '../../log.ts'
import type { ReaderChildOptions, TaskHandlers } from '../../protocol.ts'
import { answerTask } from './answer-task.ts'
import { choicesTask } from './choices-task.ts'
import { createDocumentTask } from './document-task.ts'
import { encodeAhead } from '../encoder/encode-contexts.ts'
import { generateTask, replugTask } from './generate-task.ts'
import { likelihoodTask } from './likelihood-task.ts'
import { loadReaderModel } from '../decoder/reader-model.ts'
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
    answer: (read, step, onText) => answerTask(model, read, step, onText),
    choices: (read, step) => choicesTask(model, read, step),
    likelihoods: (read, step) => likelihoodTask(model, read, step),
    document: createDocumentTask({ manifest, tokenizer, generate: (request, step) => generateTask(model, request, { yieldPoint: step }) }),
    generate: (request, step) => generateTask(model, request, { yieldPoint: step }),
    replug: (request, step) => replugTask(model, request, { yieldPoint: step }),
    encodeAhead: (input, step) => encodeAhead(model.encoder, input, step),
    score: (request, step) => scoreTask(model, request, step),
  }
}
