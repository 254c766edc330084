import { at, joined } from '../../../../base/at.ts'
import { CodedError } from '../../../../base/errors.ts'
import type { CepeManifest } from '../../../../models/manifest.ts'
import type { AttentionFocus, GenerateRequest, GenerateResult } from '../../contract.ts'
import type { EncodedContexts } from '../encoder/encode-contexts.ts'
import { type Feeds, type Graph, type Tensor, checkNumber, floats, int64, integers } from '../runtime/session.ts'
import type { Decoded, RunContext } from './step-decoding.ts'
import type { OnToken } from './text-streamer.ts'

/**
 * Measures of an answer's cross-attention: the share of each context (they sum to 1, or are all 0 without attention), and as requested.
 * @param attention [generated tokens, m], row-major
 * @param tokenCounts rows of phi per context, in phi's order; they sum to m
 */
export function measuredAttention(
  attention: Float32Array,
  tokenCounts: readonly number[],
  wantsTokenShares = false,
): Pick<GenerateResult, 'contextShares' | 'attentionFocus' | 'tokenShares'> {
  const rows = tokenCounts.reduce((sum, count) => sum + count, 0)
  return {
    contextShares: contextShares(attention, tokenCounts),
    attentionFocus: attentionFocus(attention, rows),
    ...(wantsTokenShares && { tokenShares: tokenShares(attention, rows) }),
  }
}

/** Share of each context, summed over its rows of phi and the generated tokens; all 0 without attention. */
function contextShares(attention: Float32Array, tokenCounts: readonly number[]): number[] {
  const columns = tokenCounts.reduce((sum, count) => sum + count, 0)
  const starts = tokenCounts.map((_, index) => tokenCounts.slice(0, index).reduce((sum, count) => sum + count, 0))
  const masses = tokenCounts.map((count, index) => {
    let mass = 0
    for (let row = 0; row < attention.length; row += columns) {
      for (let column = starts[index] as number, end = column + count; column < end; column++) mass += attention[row + column] as number
    }
    return mass
  })
  const total = masses.reduce((sum, mass) => sum + mass, 0)
  return masses.map((mass) => (total > 0 ? mass / total : 0))
}

/**
 * Peak and relative entropy of each generated token's attention over the rows of phi.
 * @param attention [generated tokens, m], row-major
 */
function attentionFocus(attention: Float32Array, m: number): AttentionFocus[] {
  if (m === 0) return []
  return Array.from({ length: attention.length / m }, (_, token) => {
    const row = attention.subarray(token * m, (token + 1) * m)
    let [total, peak, weighed] = [0, 0, 0]
    for (const mass of row) {
      total += mass
      peak = Math.max(peak, mass)
      if (mass > 0) weighed += mass * Math.log(mass)
    }
    // -sum (a/t) log (a/t) = log t - (sum a log a) / t
    return total > 0
      ? { peak: peak / total, entropy: m > 1 ? (Math.log(total) - weighed / total) / Math.log(m) : 0 }
      : { peak: 0, entropy: 1 }
  })
}

/** Share of cross-attention per row of phi, over the generated tokens. @param attention [generated tokens, m], row-major */
function tokenShares(attention: Float32Array, m: number): Float64Array {
  const shares = new Float64Array(m)
  let total = 0
  for (let i = 0; i < attention.length; i++) {
    const mass = attention[i] as number
    shares[i % m] = (shares[i % m] as number) + mass
    total += mass
  }
  return total > 0 ? shares.map((mass) => mass / total) : shares
}

export type GreedyAnswer = Decoded & ReturnType<typeof measuredAttention>

/** Outputs of an answer; the caches are for its continuation. */
const ANSWER = ['tokens', 'logprobs', 'attention']

/** Runs greedy decoding in one run of the generate graph. */
export async function greedy(graph: Graph, request: GenerateRequest, encoded: EncodedContexts): Promise<GreedyAnswer> {
  return answerOf([await graph.run(promptFeeds(request, encoded, request.maxNewTokens), ANSWER)], request, encoded)
}

function promptFeeds({ promptIds, stopIds }: GenerateRequest, { phi }: EncodedContexts, maxNewTokens: number): Feeds {
  return {
    input_ids: int64(promptIds, [1, promptIds.length]),
    phi,
    stop_ids: int64(stopIds, [stopIds.length]),
    max_new_tokens: int64([maxNewTokens], []),
  }
}

function answerOf(runs: readonly Feeds[], { wantsTokenShares }: GenerateRequest, { tokenCounts }: EncodedContexts): GreedyAnswer {
  const attention = runs.map((outputs) => floats(outputs, 'attention'))
  return {
    tokenIds: runs.flatMap((outputs) => integers(outputs, 'tokens')),
    logprobs: runs.flatMap((outputs) => Array.from(floats(outputs, 'logprobs'), checkNumber)),
    ...measuredAttention(joined(Float32Array, attention), tokenCounts, wantsTokenShares),
  }
}

interface PiecesModel {
  readonly generate: Graph
  /** The continue graph, loaded on first use, in parallel to the first token. */
  readonly rest: () => Promise<Graph>
  readonly dims: CepeManifest['dims']
}

/**
 * The same answer, one token per run: the first by the generate graph, the others by the continue graph, which repeats the same steps.
 * Other tasks run in between, and `yieldPoint` throws if the run is cancelled.
 */
export async function greedyInPieces(
  { generate, rest, dims }: PiecesModel,
  request: GenerateRequest,
  encoded: EncodedContexts,
  { yieldPoint, onToken }: RunContext & { readonly onToken: OnToken },
): Promise<GreedyAnswer> {
  const { promptIds, stopIds, maxNewTokens } = request
  const first = await generate.run(promptFeeds(request, encoded, 1))
  const prompt = renamed(first, 'prompt', 'prompt')
  const runs = [first]
  let since: Feeds | undefined
  for (let token = lastToken(first); ;) {
    const isOver = onToken(token)
    const position = promptIds.length + runs.length - 1
    if (isOver || stopIds.includes(token) || runs.length >= maxNewTokens || position >= dims.window) return answerOf(runs, request, encoded)
    await yieldPoint()
    const graph = await rest()
    const outputs = await graph.run({
      token: int64([token], [1, 1]),
      position: int64([position], [1, 1]),
      phi: encoded.phi,
      stop_ids: int64(stopIds, [stopIds.length]),
      max_new_tokens: int64([1], []),
      ...prompt,
      ...(since ?? emptySince(graph, prompt, dims)),
    })
    since = renamed(outputs, 'made', 'since')
    runs.push(pick(outputs, ANSWER))
    token = lastToken(outputs)
  }
}

function lastToken(outputs: Feeds): number {
  return at(integers(outputs, 'tokens'), 0)
}

/** Renames `from.{layer}.{key|value}` of all layers to `to.{layer}.{key|value}`. */
function renamed(outputs: Feeds, from: string, to: string): Feeds {
  const caches = Object.entries(outputs).filter(([name]) => name.startsWith(`${from}.`))
  if (caches.length === 0)
    throw new CodedError('model_invalid', `The graph gives no "${from}" keys and values: build the model again.`, { field: from })
  return Object.fromEntries(caches.map(([name, tensor]) => [`${to}${name.slice(from.length)}`, tensor]))
}

function pick(outputs: Feeds, names: readonly string[]): Feeds {
  return Object.fromEntries(names.flatMap((name) => (outputs[name] ? [[name, outputs[name]]] : [])))
}

function emptySince(graph: Graph, prompt: Feeds, { kv_heads, head_dim }: CepeManifest['dims']): Feeds {
  const empty = (name: string): [string, Tensor] => {
    const since = name.replace(/^prompt/, 'since')
    return [since, graph.input(since, new Uint8Array(0), [1, kv_heads, 0, head_dim])]
  }
  return Object.fromEntries(Object.keys(prompt).map(empty))
}
