import type { Log } from '../../log.ts'
import type { ReaderChildOptions, TaskHandlers } from '../../protocol.ts'
import { bestChunksTask } from './best-chunks-task.ts'
import { choicesTask } from './choices-task.ts'
import { createDocumentTask } from './document-task.ts'
import { encodeAhead } from '../encoder/encode-contexts.ts'
import { generateTask, replugTask } from './generate-task.ts'
import { likelihoodTask } from './likelihood-task.ts'
import { loadReaderModel } from '../decoder/reader-model.ts'
import { scoreTask } from './score-task.ts'
import { writtenAnswerTask } from './written-answer-task.ts'

/**
 * Loads a reader in this process and returns its tasks. Encoder states never leave the process, and texts are tokenised here.
 * @param onLoading called when a graph starts and ends loading during a task
 * @throws model_invalid, provider_unavailable
 */
export async function createReaderTasks(
  options: ReaderChildOptions,
  log: Log,
  onLoading: (loading: boolean) => void,
): Promise<TaskHandlers> {
  const model = await loadReaderModel(options, log, onLoading)
  const { manifest, tokenizer } = model
  const documentTask = createDocumentTask({
    manifest,
    tokenizer,
    generate: (request, yieldPoint) => generateTask(model, request, { yieldPoint }),
  })
  return {
    answer: (read, yieldPoint, onText) => writtenAnswerTask(model, read, yieldPoint, onText),
    choices: (read, yieldPoint) => choicesTask(model, read, yieldPoint),
    likelihoods: (read, yieldPoint) => likelihoodTask(model, read, yieldPoint),
    document: (read, yieldPoint) =>
      read.bestChunks ? bestChunksTask(model, read, read.bestChunks, yieldPoint) : documentTask(read, yieldPoint),
    generate: (request, yieldPoint) => generateTask(model, request, { yieldPoint }),
    replug: (request, yieldPoint) => replugTask(model, request, { yieldPoint }),
    encodeAhead: (input, yieldPoint) => encodeAhead(model.encoder, input, yieldPoint),
    score: (request, yieldPoint) => scoreTask(model, request, yieldPoint),
  }
}
