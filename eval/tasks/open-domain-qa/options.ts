import path from 'node:path'
import { LIMITS } from '../../../src/rag/limits.ts'
import { MODES } from '../../../src/text/plan.ts'
import { invalidOption, type TaskOptions, taskOptions } from '../../run/options.ts'
import type { EvaluationOptions } from './prepare.ts'
import { openDomainQa } from './scores.ts'
import { DATASETS, ENCODER_PASSAGES, EXACT_PROTOCOL, MODEL_PROTOCOL, PAPER_PROTOCOL, type Protocol, RETRIEVALS } from './protocol.ts'

const PROTOCOLS = { paper: PAPER_PROTOCOL, 'paper-exact': EXACT_PROTOCOL, model: MODEL_PROTOCOL }

/** Parses the options of a command line. @throws options_invalid naming the option and its allowed values */
export function parseOptions(given: Readonly<Record<string, unknown>>): EvaluationOptions {
  const options = taskOptions(openDomainQa, given)
  const [dataset, file, passages] = [options.text('dataset'), options.text('questions'), options.text('passages')]
  if (dataset === undefined && file === undefined)
    throw invalidOption('--dataset is missing: nq, triviaqa, popqa (with --questions <file>), or a question file.')
  const published = DATASETS.find((name) => name === dataset)
  const questions = file ?? (published ? undefined : dataset)
  if (questions === undefined) throw invalidOption(`--questions is missing: the file with ${dataset ?? ''}'s questions as published.`)
  return {
    questions,
    passages,
    train: options.text('train'),
    unanswerable: options.text('unanswerable'),
    dataset: published ?? path.basename(file !== undefined && dataset !== undefined ? dataset : questions),
    limit: options.text('limit') === undefined ? undefined : options.integer('limit', 1),
    protocol: readProtocol(options, passages !== undefined),
    dumpPrompts: given['dumpPrompts'] === true,
    retrievalByFile: options.text('retrieval') === undefined && passages === undefined,
  }
}

function readProtocol(options: TaskOptions, hasPassages: boolean): Protocol {
  const defaults = PROTOCOLS[options.word('protocol', Object.keys(PROTOCOLS) as (keyof typeof PROTOCOLS)[])]
  const retrieval = options.text('retrieval') === undefined ? (hasPassages ? 'supplied' : 'dense') : options.word('retrieval', RETRIEVALS)
  if (hasPassages && retrieval !== 'supplied') throw invalidOption('--passages supplies the passages: leave --retrieval out.')
  const count = (option: string, byDefault: number | null, least: number) => {
    if (options.text(option) === undefined) return byDefault
    return options.text(option) === 'service' ? null : options.integer(option, least)
  }
  return {
    ...('packing' in defaults && { packing: defaults.packing }),
    modes: options.words('modes', MODES),
    ks: options.integers('k', 1, LIMITS.k),
    encoder_passages: options.words('encoderPassages', ENCODER_PASSAGES),
    shots: count('shots', defaults.shots, 0),
    k_decoder: count('kDecoder', defaults.k_decoder, 0),
    context_tokens: count('contextTokens', defaults.context_tokens, 1),
    max_new_tokens: count('maxNewTokens', defaults.max_new_tokens, 1),
    retrieval,
    recall_depth: options.integer('recallDepth', 1, { most: LIMITS.k }),
    seed: options.integer('seed'),
  }
}
