import type { Log } from '../../log.ts'
import { type ReaderChildOptions, type TaskHandlers, totalCounts } from '../../protocol.ts'
import { bestChunksTask, documentTask } from './document-task.ts'
import { choicesTask, likelihoodTask, scoreTask } from './scoring-tasks.ts'
import { encodeAhead } from '../encoder/encode-contexts.ts'
import { generateTask, replugTask } from './generate-task.ts'
import { type ReaderModel, loadReaderModel } from '../decoder/reader-model.ts'
import { writtenAnswerTask } from './written-answer.ts'
import { greedy } from '../decoder/greedy.ts'
import { firstRun, float32, floats, padRight } from '../runtime/session.ts'

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
  await firstRun(options.provider, () => encodeAndStep(model))
  return {
    answer: (read, yieldPoint, onText) => writtenAnswerTask(model, read, yieldPoint, onText),
    choices: (read, yieldPoint) => choicesTask(model, read, yieldPoint),
    likelihoods: (read, yieldPoint) => likelihoodTask(model, read, yieldPoint),
    document: (read, yieldPoint) =>
      read.bestChunks ? bestChunksTask(model, read, read.bestChunks, yieldPoint) : documentTask(model, read, yieldPoint),
    generate: (request, yieldPoint) => generateTask(model, request, { yieldPoint }),
    replug: (request, yieldPoint) => replugTask(model, request, { yieldPoint }),
    encodeAhead: (input, yieldPoint) => encodeAhead(model.encoder, input, yieldPoint),
    score: (request, yieldPoint) => scoreTask(model, request, yieldPoint),
    cacheCounts: () => totalCounts([model.encoder.cache.counts(), model.prompts.counts()]),
  }
}

/** Encodes one token and decodes two: the prompt, and a step of the loop. */
async function encodeAndStep({ encoder, generateGraph: generate, prompts, manifest, tokenizer }: ReaderModel): Promise<void> {
  const width = manifest.dims.encoder_hidden_size
  const states = encoder.graph ? floats(await encoder.graph.run(padRight([[0]], 0)), 'phi') : new Float32Array(0)
  const rows = encoder.graph ? states.length / width : 0
  const request = { contexts: [], contextTokens: 1, promptIds: [tokenizer.bosId ?? 0], stopIds: [-1], maxNewTokens: 2 }
  await greedy({ generate, prompts }, request, { phi: float32(states, [rows, width]), tokenCounts: [rows] })
}
