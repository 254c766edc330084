import path from 'node:path'
import { LIMITS } from '../../../src/rag/limits.ts'
import { MODES } from '../../../src/text/plan.ts'
import { option } from '../../run/contract.ts'
import { invalidOption, taskOptions, type TaskOptions } from '../../run/options.ts'
import type { EvaluationOptions } from './prepare.ts'
import { ENCODER_PASSAGES, EXACT_PROTOCOL, MODEL_PROTOCOL, PAPER_PROTOCOL, type Protocol, RETRIEVALS } from './protocol.ts'

/** Options of `cepe eval` that determine a run. */
export const QA_OPTIONS = [
  option('--dataset <name|file>', 'nq, triviaqa, popqa, or a question file'),
  option(
    '--questions <file>',
    'the question file as published (NQ-open JSONL, TriviaQA JSON, PopQA TSV, CEPE/FiD/Contriever/DPR JSON or JSONL; .gz too)',
  ),
  option('--passages <file>', 'retrieved passages (a file with ctxs) instead of searching the index'),
  option('--train <file>', 'file to sample demonstrations from (default for PopQA: the question file)'),
  option('--unanswerable <file>', 'unanswerable questions, to evaluate the confidence'),
  option('--k <numbers>', 'passages per question, a list', '10,20,30,60'),
  option('--modes <list>', MODES.join(', '), 'cepe,decoder-only,closed-book'),
  option('--encoder-passages <list>', 'passages for the encoder in mode cepe: others (those outside the prompt), all', 'others'),
  option(
    '--protocol <name>',
    "paper: 2 demonstrations, 10 passages in the decoder, 256 tokens per passage, 25 new tokens; paper-exact: prompts cut as the published evaluation cuts them, too (docs/evaluation.md); model: the served model's own (qa_config.json), its mode and k too where --modes and --k are not given",
    'paper',
  ),
  option('--shots <number|service>', 'demonstrations per question'),
  option('--k-decoder <number|service>', 'passages in the decoder prompt'),
  option('--context-tokens <number|service>', 'maximum tokens of each passage'),
  option('--max-new-tokens <number|service>', 'longest answer'),
  option(
    '--retrieval <method>',
    "dense, text (BM25), hybrid, or supplied (the questions' own ctxs); by default supplied where the question file has ctxs, else dense",
  ),
  option('--recall-depth <number>', 'passages retrieved for recall', '100'),
  option('--limit <number>', 'questions to sample from the file'),
  option('--seed <number>', 'seed of demonstrations, question sample and bootstrap', '0'),
]

const PUBLISHED_DATASETS = ['nq', 'triviaqa', 'popqa'] as const
const PROTOCOLS = { paper: PAPER_PROTOCOL, 'paper-exact': EXACT_PROTOCOL, model: MODEL_PROTOCOL }

/**
 * Parses the options of a command line.
 * @throws options_invalid naming the option and its allowed values
 */
export function parseOptions(given: Readonly<Record<string, unknown>>): EvaluationOptions {
  const options = taskOptions({ options: QA_OPTIONS }, given)
  const [dataset, file, passages] = [options.text('dataset'), options.text('questions'), options.text('passages')]
  if (dataset === undefined && file === undefined)
    throw invalidOption('--dataset is missing: nq, triviaqa, popqa (with --questions <file>), or a question file.')
  const published = PUBLISHED_DATASETS.find((name) => name === dataset)
  const questions = file ?? (published ? undefined : dataset)
  if (questions === undefined) throw invalidOption(`--questions is missing: the file with ${dataset ?? ''}'s questions as published.`)
  return {
    ...{ questions, passages, train: options.text('train'), unanswerable: options.text('unanswerable') },
    dataset: published ?? path.basename(file !== undefined && dataset !== undefined ? dataset : questions),
    limit: options.text('limit') === undefined ? undefined : options.integer('limit', 1),
    protocol: readProtocol(options, passages !== undefined),
    dumpPrompts: given['dumpPrompts'] === true,
    retrievalByFile: options.text('retrieval') === undefined && passages === undefined,
  }
}

function readProtocol(options: TaskOptions, hasPassages: boolean): Protocol {
  const defaults = PROTOCOLS[options.word('protocol', Object.keys(PROTOCOLS) as (keyof typeof PROTOCOLS)[])]
  const bySource = hasPassages ? 'supplied' : 'dense'
  const retrieval = options.text('retrieval') === undefined ? bySource : options.word('retrieval', RETRIEVALS)
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
