import { performance } from 'node:perf_hooks'
import { at } from '../../base/at.ts'
import { modelId } from '../../models/manifest.ts'
import { CodedError } from '../../base/errors.ts'
import type { GenerateResult, Reader, RunOptions } from '../inference/contract.ts'
import { packPrompt, type PromptTokenizer } from './pack.ts'
import { renderPassage, type Demonstration, type PromptPassage } from './prompt.ts'
import { retrieve, type RetrievalTimings, type Retrieved, type Retriever } from './retrieve.ts'
import type { AnswerRequest, AnswerResponse, Evidence, Mode } from './schema.ts'

/** A passage to answer from, in order of rank. */
export interface RankedPassage extends PromptPassage {
  readonly id: string
  readonly score: number | null
  /** Where the passage came from. */
  readonly source?: string
}

export interface ReaderTokenizer extends PromptTokenizer {
  /** Ids that end an answer: every token with a line break in it, and EOS. */
  readonly stopIds: readonly number[]
}

export interface AnswerServices {
  readonly reader: Reader
  readonly tokenizer: ReaderTokenizer
  readonly retriever: Retriever
  /** The service's worked examples, in the order in which they are used. */
  readonly demonstrations: readonly Demonstration[]
}

/** A request with every default filled in from the model's own protocol. */
export interface ReadOptions {
  readonly question: string
  readonly mode: Mode
  readonly kDecoder: number
  readonly encoderPassages: 'others' | 'all'
  readonly demonstrations: readonly Demonstration[]
  readonly contextTokens: number
  readonly maxNewTokens: number
  readonly sampling?: { readonly temperature: number; readonly topP: number; readonly seed: number }
  readonly replugTemperature: number
}

/** What the reader is asked, before it is asked: prompts and the placement of each passage. Pure, so that evaluation can show it. */
export interface ReadPlan {
  readonly prompts: readonly { readonly ids: readonly number[]; readonly text: string; readonly score: number }[]
  readonly contexts: readonly string[]
  /** Index of the context that holds passage i, or -1. */
  readonly contextOf: readonly number[]
  readonly inDecoder: readonly boolean[]
}

/** Answers a question from retrieved (or supplied) passages. */
export async function answerQuestion(request: AnswerRequest, services: AnswerServices, run: RunOptions = {}): Promise<AnswerResponse> {
  const started = performance.now()
  const options = readOptions(request, services)
  const { passages, found } = await gatherPassages(request, options.mode, services, run)
  const answered = await readAnswer(passages, options, services, remaining(run, started))
  const total = performance.now() - started
  return {
    ...answered.body,
    timings_ms: rounded({ ...(found?.timings ?? NO_RETRIEVAL), ...answered.timings, total }),
    model: { reader: modelId(services.reader.manifest), retriever: found ? found.model : null },
    index: found ? found.index : null,
    ...(request.include_prompts && { prompts: answered.plan.prompts.map((prompt) => prompt.text) }),
  }
}

const NO_RETRIEVAL: RetrievalTimings = { embed: 0, retrieve: 0 }

/** The passages to answer from: those of the request where it brings its own, else the index's k best. */
export async function gatherPassages(
  request: Pick<AnswerRequest, 'question' | 'k' | 'method' | 'filter' | 'passages'>,
  mode: Mode,
  services: Pick<AnswerServices, 'reader' | 'retriever'>,
  run: RunOptions,
): Promise<{ passages: readonly RankedPassage[]; found: Retrieved | null }> {
  const k = mode === 'closed-book' ? 0 : (request.k ?? services.reader.manifest.qa_defaults.k)
  if (request.passages !== undefined) {
    const supplied = request.passages.slice(0, request.k).map(({ id, title, text, score, source }, i) => ({
      id: id ?? String(i + 1),
      title,
      text,
      score: score ?? null,
      ...(source !== undefined && { source }),
    }))
    return { passages: mode === 'closed-book' ? [] : supplied, found: null }
  }
  if (k === 0) return { passages: [], found: null }
  // RePlug weighs passages by the retriever's own scores (Shi et al., 2023, section 3.2): fused ones have another scale.
  const method = request.method ?? (mode === 'replug' ? 'dense' : undefined)
  const options = { k, ...(method && { method }), ...(request.filter && { filter: request.filter }) }
  const found = await retrieve(request.question.trim(), options, services.retriever, run)
  return { passages: found.hits, found }
}

/** The second half of the pipeline alone: from passages to an answer. */
export async function readAnswer(passages: readonly RankedPassage[], options: ReadOptions, services: AnswerServices, run: RunOptions = {}) {
  const plan = planRead(passages, options, services)
  const result = await ask(plan, options, services, run)
  const generated = result.tokenIds.length
  const stopped = generated > 0 && services.tokenizer.stopIds.includes(result.tokenIds[generated - 1] ?? -1)
  return {
    body: {
      answer: answerText(result, stopped, services.tokenizer),
      confidence: confidence(result.logprobs),
      finish_reason: stopped ? ('stop' as const) : ('length' as const),
      evidence: evidence(passages, plan, result),
      mode: options.mode,
      usage: {
        prompt_tokens: plan.prompts.reduce((sum, prompt) => sum + prompt.ids.length, 0),
        context_tokens: result.contextTokenCounts.reduce((sum, count) => sum + count, 0),
        generated_tokens: generated,
      },
    },
    timings: result.timingsMs,
    result,
    plan,
  }
}

/**
 * Geometric mean of the token probabilities, exp(mean log-probability), the stop token included:
 * a model that is unsure where its answer ends is unsure of the answer.
 */
export function confidence(logprobs: readonly number[]): number {
  return logprobs.length === 0 ? 0 : Math.min(1, Math.exp(logprobs.reduce((sum, logprob) => sum + logprob, 0) / logprobs.length))
}

/** Fills a request's gaps from the model's own protocol. */
export function readOptions(request: AnswerRequest, services: AnswerServices): ReadOptions {
  const defaults = services.reader.manifest.qa_defaults
  const { dims } = services.reader.manifest
  const mode = request.mode ?? 'cepe'
  if (mode === 'replug' && request.sampling)
    throw new CodedError('invalid_request', 'sampling is not available in replug mode: leave it out, or choose another mode.', {
      field: 'sampling',
    })
  const contextTokens = request.context_tokens ?? defaults.context_tokens
  if (dims.encoder_window > 0 && contextTokens > dims.encoder_window) {
    throw new CodedError(
      'invalid_request',
      `context_tokens is ${contextTokens}, but this model's encoder takes ${dims.encoder_window} at most.`,
      { field: 'context_tokens' },
    )
  }
  return {
    question: request.question.trim(),
    mode,
    kDecoder: request.k_decoder ?? defaults.k_decoder,
    encoderPassages: request.encoder_passages ?? 'others',
    demonstrations: chooseDemonstrations(request.demonstrations ?? defaults.demonstrations, services.demonstrations),
    contextTokens,
    maxNewTokens: request.max_new_tokens ?? defaults.max_new_tokens,
    ...(request.sampling && {
      sampling: { temperature: request.sampling.temperature, topP: request.sampling.top_p, seed: request.sampling.seed },
    }),
    replugTemperature: request.replug_temperature ?? 1,
  }
}

function chooseDemonstrations(
  wanted: NonNullable<AnswerRequest['demonstrations']>,
  own: readonly Demonstration[],
): readonly Demonstration[] {
  if (typeof wanted !== 'number') {
    return wanted.map(({ question, answer, passage }) => ({ question, answer, ...(passage && { passage }) }))
  }
  if (wanted > own.length) {
    throw new CodedError(
      'invalid_request',
      `demonstrations is ${wanted}, but the service has ${own.length}: send the examples themselves, or set CEPE_DEMONSTRATIONS.`,
      { field: 'demonstrations' },
    )
  }
  return own.slice(0, wanted)
}

/** Decides what the decoder's prompt holds and what the encoder reads. */
export function planRead(
  passages: readonly RankedPassage[],
  options: ReadOptions,
  { reader, tokenizer }: Pick<AnswerServices, 'reader' | 'tokenizer'>,
): ReadPlan {
  const { dims } = reader.manifest
  const pack = (candidates: readonly PromptPassage[], demonstrations: readonly Demonstration[]) =>
    packPrompt(
      {
        question: options.question,
        demonstrations,
        passages: candidates,
        contextTokens: options.contextTokens,
        window: dims.window,
        maxNewTokens: options.maxNewTokens,
      },
      tokenizer,
    )
  const placed = (used: number) => passages.map((_, i) => i < used)

  switch (options.mode) {
    case 'closed-book': {
      const bare = options.demonstrations.map(({ question, answer }) => ({ question, answer }))
      return { prompts: [{ ...pack([], bare), score: 0 }], contexts: [], contextOf: passages.map(() => -1), inDecoder: placed(0) }
    }
    case 'decoder-only': {
      const prompt = pack(passages, options.demonstrations)
      return { prompts: [{ ...prompt, score: 0 }], contexts: [], contextOf: passages.map(() => -1), inDecoder: placed(prompt.passagesUsed) }
    }
    case 'replug': {
      const prompts = passages.map((passage) => ({ ...pack([passage], options.demonstrations), score: passage.score ?? 0 }))
      return {
        prompts: prompts.length > 0 ? prompts : [{ ...pack([], options.demonstrations), score: 0 }],
        contexts: [],
        contextOf: passages.map(() => -1),
        inDecoder: prompts.map((prompt) => prompt.passagesUsed > 0),
      }
    }
    case 'cepe': {
      const prompt = pack(passages.slice(0, options.kDecoder), options.demonstrations)
      const first = options.encoderPassages === 'all' ? 0 : prompt.passagesUsed
      const encoded = dims.cross_attention_layers > 0 ? passages.slice(first) : []
      return {
        prompts: [{ ...prompt, score: 0 }],
        contexts: encoded.map(renderPassage),
        contextOf: passages.map((_, i) => (i >= first && encoded.length > 0 ? i - first : -1)),
        inDecoder: placed(prompt.passagesUsed),
      }
    }
  }
}

async function ask(plan: ReadPlan, options: ReadOptions, { reader, tokenizer }: AnswerServices, run: RunOptions): Promise<GenerateResult> {
  const { stopIds } = tokenizer
  const { maxNewTokens } = options
  const [prompt] = plan.prompts
  if (prompt === undefined) throw new CodedError('internal', 'No prompt was planned. This is a bug.')
  if (options.mode === 'replug')
    return reader.replug({ prompts: plan.prompts, temperature: options.replugTemperature, stopIds, maxNewTokens }, run)
  return reader.generate(
    {
      promptIds: prompt.ids,
      contexts: plan.contexts,
      contextTokens: options.contextTokens,
      stopIds,
      maxNewTokens,
      ...(options.sampling && { sampling: options.sampling }),
    },
    run,
  )
}

function answerText(result: GenerateResult, stopped: boolean, tokenizer: PromptTokenizer): string {
  const ids = stopped ? result.tokenIds.slice(0, -1) : result.tokenIds
  return at(tokenizer.decode(ids).split('\n'), 0).trim()
}

/** Where each passage was read and, after generation, how much attention it got. */
export function evidence(passages: readonly RankedPassage[], plan: ReadPlan, result?: GenerateResult): Evidence[] {
  return passages.map(({ id, title, text, source, score }, i) => {
    const context = plan.contextOf[i] ?? -1
    const inDecoder = plan.inDecoder[i] === true
    const role = context >= 0 ? (inDecoder ? 'both' : 'encoder') : inDecoder ? 'decoder' : 'unused'
    return {
      id,
      title,
      text,
      ...(source !== undefined && { source }),
      score,
      rank: i + 1,
      role,
      attention: result?.contextShares[context] ?? null,
      tokens: result?.contextTokenCounts[context] ?? null,
    }
  })
}

/** The run options with the time that has passed since `started` taken off the deadline. */
function remaining(run: RunOptions, started: number): RunOptions {
  return run.deadlineMs === undefined ? run : { ...run, deadlineMs: Math.max(1, run.deadlineMs - (performance.now() - started)) }
}

function rounded<T extends Record<string, number>>(timings: T): T {
  return Object.fromEntries(Object.entries(timings).map(([name, ms]) => [name, Math.round(ms * 100) / 100])) as T
}
