import type { TopLevelSpec } from 'vega-lite'
import { at, mean } from '../../../base/at.ts'
import type { ProblemLog } from '../../datasets/question-set.ts'
import { linesOver } from '../../report/lines.ts'
import type { AskedIds, ReaderClient, TaskSummary } from '../../run/contract.ts'
import { invalidOption, type TaskOptions } from '../../run/options.ts'
import type { SettingSummary } from '../../run/summary.ts'
import type { StreamingCache } from '../../../src/inference/contract.ts'
import { logSumExp } from '../../../src/inference/worker/decoder/sampling.ts'

export const METHODS = ['cepe', 'full-context', 'decoder-only', 'replug', 'streaming'] as const
export type Method = (typeof METHODS)[number]

/** A text whose last tokens are scored: a part for the encoder, and the decoder's. */
export interface ScoredText {
  readonly contextIds: readonly (readonly number[])[]
  readonly ids: readonly number[]
  /** Tokens to score, from the end of `ids`; fewer than there are. */
  readonly scoredTokens: number
  /** RePlug's weights before the softmax, one per context. */
  readonly contextScores: readonly number[]
}

/**
 * Scores a text by one of the paper's methods.
 * @returns with the loss, the mean negative log-likelihood of the scored tokens (perplexity is exp of its mean over texts), and the decoder
 *   tokens held at once, if not all
 * @throws invalid_request if it does not fit the model's window
 */
export async function scoreText(method: Method, text: ScoredText, { reader, manifest }: ReaderClient, cache: StreamingCache) {
  const { contextIds, scoredTokens } = text
  const started = performance.now()
  const score = async (ids: readonly number[], contexts: readonly (readonly number[])[]) =>
    at(
      await reader.score({
        contexts: [],
        contextIds: contexts,
        contextTokens: Math.max(1, manifest.dims.encoder_window),
        promptIds: ids.slice(0, -scoredTokens),
        continuations: [ids.slice(-scoredTokens)],
        streaming: method === 'streaming' ? cache : undefined,
      }),
      0,
    )
  const joined = method === 'full-context' || method === 'streaming'
  const decoder =
    method === 'replug' ? contextIds.map((ids) => [...ids, ...text.ids]) : [joined ? [...contextIds.flat(), ...text.ids] : text.ids]
  const encoder = method === 'cepe' ? contextIds : []
  const rows: (readonly number[])[] = []
  for (const ids of decoder) rows.push(await score(ids, encoder))
  const read = decoder.reduce((sum, ids) => sum + ids.length, 0)
  const logprobs = method === 'replug' ? mixture(rows, text.contextScores) : at(rows, 0)
  return {
    scores: { loss: -mean(logprobs) },
    asked: { decoder, encoder } satisfies AskedIds,
    tokens: { decoder: read, encoder: encoder.flat().length, generated: 0 },
    ...(method === 'streaming' && { cached_tokens: Math.min(read, cache.sinks + cache.recent + cache.stride) }),
    ms: performance.now() - started,
  }
}

/** log sum_i softmax(scores)_i p_i(token) of every token (RePlug, Shi et al. 2023), from probabilities of the text's own. */
function mixture(rows: readonly (readonly number[])[], scores: readonly number[]): number[] {
  const total = logSumExp(scores)
  return at(rows, 0).map((_, token) => logSumExp(rows.map((row, i) => at(row, token) + at(scores, i) - total)))
}

interface SettingOptions {
  readonly allowed: readonly Method[]
  readonly sizes: Readonly<Record<'contextTokens' | 'decoderTokens', number>>
  readonly window: number
  /** The contexts in a setting's name. */
  readonly described: (contexts: number) => string
  /** Why a method cannot be asked of the model. */
  readonly whyNot?: (method: Method) => string | undefined
}

/** The sizes that all tasks of language modelling have, in tokens. @throws options_invalid if nothing is left of the decoder's */
export function sizesOf(options: TaskOptions, part: 'scoredTokens' | 'queryTokens', nothing: string) {
  const sizes = { contextTokens: options.integer('contextTokens', 1), decoderTokens: options.integer('decoderTokens', 2) }
  const tokens = options.integer(part, 1)
  if (tokens < sizes.decoderTokens) return { ...sizes, tokens }
  const message = `--${part.replace('T', '-t')} ${tokens} leaves nothing to ${nothing} of --decoder-tokens ${sizes.decoderTokens}: take fewer.`
  throw invalidOption(message)
}

/**
 * One setting per method and number of contexts; without contexts all methods equal the decoder alone, which is asked once. Settings that
 * cannot be asked become problems.
 * @throws options_invalid if none is left
 */
export function methodSettings(
  options: TaskOptions,
  { allowed, sizes, window, described, whyNot = () => undefined }: SettingOptions,
  problems: ProblemLog,
) {
  const { contextTokens, decoderTokens } = sizes
  const methods = options.words('methods', allowed)
  const all = options.integers('contexts').flatMap((contexts) =>
    (contexts === 0 ? ['decoder-only' as const] : methods).map((method) => {
      const total = `${method}, ${contexts * contextTokens + decoderTokens} tokens`
      return { name: contexts === 0 ? total : `${total} (${described(contexts)})`, method, contexts }
    }),
  )
  const settings = all.filter(({ name, method, contexts }) => {
    const read = method === 'full-context' ? contexts * contextTokens : method === 'replug' ? contextTokens : 0
    const tooLong = `setting needs ${read + decoderTokens} positions of the window's ${window} (cepe build --rope extends it)`
    const problem = whyNot(method) ?? (read + decoderTokens > window ? tooLong : undefined)
    if (problem !== undefined) problems.add(problem, name)
    return problem === undefined
  })
  if (settings.length > 0) return settings
  const reasons = problems.list().map(({ kind, places }) => `${places.join('; ')}: ${kind}`)
  const message = `No setting can be asked: ${reasons.join('. ')}. Lower --decoder-tokens or --context-tokens, or choose other --methods.`
  throw invalidOption(message)
}

/** Tokens of the decoder's text to compare contexts with. */
const QUERY_TOKENS = 256

/** Dot product of Contriever's embeddings of each context and of the beginning of the decoder's text. */
export async function retrievalScores(
  { contextIds, ids }: Pick<ScoredText, 'contextIds' | 'ids'>,
  client: ReaderClient,
): Promise<number[]> {
  const texts = [ids.slice(0, QUERY_TOKENS), ...contextIds].map((part) => client.tokenizer.decode(part))
  const [query, ...contexts] = await client.embed(texts)
  return contexts.map((context) => dot(query ?? new Float32Array(0), context))
}

function dot(a: Float32Array, b: Float32Array): number {
  return a.reduce((sum, value, i) => sum + value * (b[i] as number), 0)
}

/** Indices and dot products of the `k` nearest vectors, best first. */
export function nearest(
  query: Float32Array,
  vectors: readonly Float32Array[],
  k: number,
): { readonly index: number; readonly score: number }[] {
  return vectors
    .map((_, index) => ({ index, score: dot(query, at(vectors, index)) }))
    .sort((a, b) => b.score - a.score || a.index - b.index)
    .slice(0, k)
}

/** Tokens in a setting's name, as in `cepe, 4096 tokens (8 x 256 + 2048)`. */
export function lengthOf({ setting }: Pick<SettingSummary, 'setting'>): number {
  return Number(/, (\d+) tokens/.exec(setting)?.[1] ?? Number.NaN)
}

/** Plots a value of every setting over the length of its text, one line per method. */
export function overLength(
  { settings }: TaskSummary,
  label: string,
  value: (setting: SettingSummary) => number,
  xTitle = 'tokens of text',
): TopLevelSpec {
  const points = settings
    .filter((setting) => setting.n > 0)
    .map((setting) => ({ series: setting.setting.replace(/,.*/s, ''), x: lengthOf(setting), y: value(setting) }))
  return linesOver(points, { x: xTitle, y: label, series: 'method' }, { zero: false })
}

/** A setting's perplexity; NaN without scores. */
export function perplexityOf({ scores }: SettingSummary): number {
  return scores['loss']?.mean ?? Number.NaN
}
