import path from 'node:path'
import Value from '#typebox/value'
import { MODES } from '../../../src/text/plan.ts'
import { invalidOption, listedWords, wholeNumber, wholeNumbers } from '../../task/options.ts'
import type { EvaluationOptions } from './prepare.ts'
import { EXACT_PROTOCOL, MODEL_PROTOCOL, PAPER_PROTOCOL, ProtocolSchema, type Protocol } from './protocol.ts'

/** Options as the command line gives them. */
export interface RawOptions {
  readonly dataset?: string
  readonly questions?: string
  readonly passages?: string
  readonly train?: string | undefined
  readonly unanswerable?: string
  readonly k: string
  readonly modes: string
  readonly encoderPassages: string
  readonly protocol: string
  readonly shots?: string
  readonly kDecoder?: string
  readonly contextTokens?: string
  readonly maxNewTokens?: string
  readonly retrieval?: string
  readonly recallDepth: string
  readonly limit?: string | undefined
  readonly seed: string
  readonly dumpPrompts?: boolean
}

const PUBLISHED_DATASETS = ['nq', 'triviaqa', 'popqa'] as const

/**
 * Parses the options.
 * @throws options_invalid naming the option and its allowed values
 */
export function parseOptions(raw: RawOptions): EvaluationOptions {
  if (raw.dataset === undefined && raw.questions === undefined)
    throw invalidOption('--dataset is missing: nq, triviaqa, popqa (with --questions <file>), or a question file.')
  const published = PUBLISHED_DATASETS.find((name) => name === raw.dataset)
  const questions = raw.questions ?? (published ? undefined : raw.dataset)
  if (questions === undefined) throw invalidOption(`--questions is missing: the file with ${raw.dataset ?? ''}'s questions as published.`)
  return {
    dataset: published ?? path.basename(raw.questions !== undefined && raw.dataset !== undefined ? raw.dataset : questions),
    questions,
    passages: raw.passages,
    train: raw.train,
    unanswerable: raw.unanswerable,
    limit: raw.limit === undefined ? undefined : wholeNumber('--limit', raw.limit, 1),
    protocol: readProtocol(raw),
    dumpPrompts: raw.dumpPrompts ?? false,
    retrievalByFile: raw.retrieval === undefined && raw.passages === undefined,
  }
}

function readProtocol(raw: RawOptions): Protocol {
  const named = { paper: PAPER_PROTOCOL, 'paper-exact': EXACT_PROTOCOL, model: MODEL_PROTOCOL }
  if (!Object.hasOwn(named, raw.protocol))
    throw invalidOption(`--protocol must be paper, paper-exact or model, not ${JSON.stringify(raw.protocol)}.`)
  const defaults = named[raw.protocol as keyof typeof named]
  const retrieval = raw.retrieval ?? (raw.passages === undefined ? 'dense' : 'supplied')
  if (raw.passages !== undefined && retrieval !== 'supplied')
    throw invalidOption('--passages supplies the passages: leave --retrieval out.')
  const count = (option: string, value: string | undefined, byDefault: number | null, minimum: number) =>
    value === undefined ? byDefault : value === 'service' ? null : wholeNumber(option, value, minimum)
  const protocol = {
    ...('packing' in defaults && { packing: defaults.packing }),
    modes: listedWords(raw.modes),
    ks: wholeNumbers('--k', raw.k, 1),
    encoder_passages: listedWords(raw.encoderPassages),
    shots: count('--shots', raw.shots, defaults.shots, 0),
    k_decoder: count('--k-decoder', raw.kDecoder, defaults.k_decoder, 0),
    context_tokens: count('--context-tokens', raw.contextTokens, defaults.context_tokens, 1),
    max_new_tokens: count('--max-new-tokens', raw.maxNewTokens, defaults.max_new_tokens, 1),
    retrieval,
    recall_depth: wholeNumber('--recall-depth', raw.recallDepth, 1),
    seed: wholeNumber('--seed', raw.seed, 0),
  }
  if (Value.Check(ProtocolSchema, protocol)) return protocol
  const field = Value.Errors(ProtocolSchema, protocol)[0]?.instancePath.split('/')[1] ?? ''
  const allowed: Record<string, string> = {
    modes: `--modes takes ${MODES.join(', ')}`,
    encoder_passages: '--encoder-passages takes others, all',
    retrieval: '--retrieval takes dense, text, hybrid or supplied',
    ks: '--k takes numbers from 1 to 200',
    recall_depth: '--recall-depth takes a number from 1 to 200',
  }
  throw invalidOption(`${allowed[field] ?? `--${field} is not valid`}, not ${JSON.stringify(protocol[field as keyof typeof protocol])}.`)
}
