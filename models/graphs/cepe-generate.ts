import { at, present } from '../../base/at.ts'
import type { CepeConfig } from '../checkpoint/config/config.ts'
import type { Checkpoint } from '../checkpoint/checkpoint.ts'
import { decodeSelfAttention, groupedKeyValues, promptSelfAttention } from '../blocks/attention.ts'
import { decodeCrossAttention, promptCrossAttention, type Context } from '../blocks/cross-attention.ts'
import type { Residual } from '../blocks/norm.ts'
import { Params } from '../blocks/params.ts'
import type { Precision } from '../blocks/precision.ts'
import { promptRotations, type Rope } from '../blocks/rotations.ts'
import type { KeyValues } from '../blocks/scores.ts'
import { unsupported } from '../errors.ts'
import { loop, type Carried } from '../onnx/control.ts'
import { Graph, type Value } from '../onnx/graph.ts'
import {
  add,
  argMax,
  cast,
  concat,
  equal,
  f32,
  flatten,
  i64,
  i64s,
  last,
  less,
  lessOrEqual,
  logSoftmax,
  min,
  mul,
  not,
  reduceMax,
  reduceSum,
  reshape,
  reshapeTo,
  sizeOf,
  sub,
  zeros,
} from '../onnx/ops.ts'
import { decoderPass, keyValueInputs, keyValueOutputs, logitsOf, phiInput, type Pass } from './decoder.ts'
import { byLayer, decoderRopes, windowBiases, type ByLayer } from './layer-kinds.ts'

/** Constraint of GroupQueryAttention with do_rotary. */
const HEAD_MULTIPLE = 16
/** Dimension of generated tokens' keys, including the new one. */
const MADE = 'made'
/** Dimension of a prompt's tokens, those of its beginning included. */
const PROMPT = 'P+L'

interface Reading extends Pass {
  readonly params: Params
  readonly config: CepeConfig
}

function pass({ params, config, ids, context }: Reading, sublayers: Parameters<typeof decoderPass>[3]) {
  const { shares, ...made } = decoderPass(params, config, { ids, context }, sublayers)
  const [first, ...others] = shares
  // f32 [m]: the last token's cross-attention on each row of phi, averaged over layers and heads; zeros where no layer attends.
  const attention = first
    ? mul(cast(others.reduce(add, first), 'f32'), f32(ids.graph, 1 / shares.length))
    : zeros('f32', sizeOf(context.phi, 0), ['m'])
  return { ...made, attention }
}

/** @param before keys and values of the prompt's beginning, for every layer */
function promptPass(reading: Reading, ropes: ByLayer<Rope>, before: readonly KeyValues[] | null) {
  const { ids, context } = reading
  const { decoder: heads } = reading.config
  const start = before ? sizeOf(at(before, 0).keys, 2) : i64s(ids.graph, [0])
  const length = before ? add(start, sizeOf(ids, 1)) : sizeOf(ids, 1)
  const tokens = {
    total: reshape(cast(length, 'i32'), []),
    lastIndex: cast(sub(length, i64(ids.graph, 1)), 'i32'),
    dim: before ? PROMPT : 'L',
  }
  const rotations = ropes.map((rope) => promptRotations(rope, start, length))
  const windows = byLayer(heads, (local) => local?.window ?? null)
  const { stream, ...made } = pass(reading, {
    self: (params, x, i) =>
      promptSelfAttention({ params, x, heads }, rotations.of(i), { ...tokens, before: before && at(before, i) }, windows.of(i)),
    cross: (params, x) => promptCrossAttention({ params, x, context, heads }),
  })
  return { ...made, length: reshape(length, []), stream: { x: last(stream.x, 1), delta: stream.delta && last(stream.delta, 1) } }
}

/** Greedy choice from the stream [1,1,d]: token i64 [1,1] and its log-probability f32 [1,1]. */
function choose(params: Params, config: CepeConfig, stream: Residual): { token: Value; logprob: Value } {
  const logits = logitsOf(params, config, stream)
  return params.graph.scope('greedy', () => ({ token: argMax(logits), logprob: reduceMax(logSoftmax(logits), -1) }))
}

/**
 * Greedy answers in one run: input_ids i64 [1,L], phi f32 [m,d_enc], stop_ids i64 [K], max_new_tokens i64 scalar (>= 1) -> tokens i64 [n],
 * logprobs f32 [n], attention f32 [n,m], and, for a continuation, prompt.{i}.key|value [1,kv_heads,P+L,head_dim]. m and K may be 0. Ends
 * after a token of stop_ids, which is the last of `tokens`, after max_new_tokens, or when the decoder's window is full. attention is each
 * token's cross-attention on each row of phi, averaged over layers and heads.
 *
 * In f32 builds before.{i}.key|value [1,kv_heads,P,head_dim] are the first outputs of an earlier run whose prompt began with the same P tokens
 * (P >= 0); input_ids are those after them. A GPU reads a prompt faster than it gets these from the host: f16 builds have none.
 *
 * The prompt runs in the main graph and yields the first token; a Loop generates the others, one per iteration. It carries keys and values
 * of the generated tokens; those of the prompt stay outside it and are never copied.
 * @throws unsupported for a head size that GroupQueryAttention's rotary embedding does not support
 */
export function cepeGenerateGraph(checkpoint: Checkpoint, config: CepeConfig, precision: Precision): Graph {
  const graph = new Graph('cepe_generate')
  const { decoder } = config
  const message = `the decoder's heads are ${decoder.headDim} wide; ONNX Runtime's GroupQueryAttention takes multiples of ${HEAD_MULTIPLE}`
  if (decoder.headDim % HEAD_MULTIPLE !== 0) throw unsupported(message, 'num_attention_heads')
  const ids = graph.input('input_ids', 'i64', [1, 'L'])
  const context = phiInput(graph, config, precision)
  const stopIds = graph.input('stop_ids', 'i64', ['K'])
  const maxNewTokens = graph.input('max_new_tokens', 'i64', [])
  const params = new Params(graph, checkpoint, precision)
  const tokenParams = params.with(precision.tokens)
  const ropes = decoderRopes(graph, decoder, precision.float)

  const { float: elem } = precision
  const before = elem === 'f32' ? keyValueInputs(graph, 'before', config, { elem, batch: 1, length: 'P' }) : null
  const { length, ...prompt } = graph.scope('prompt', () => promptPass({ params, config, ids, context }, ropes, before))
  const chosen = choose(params, config, prompt.stream)
  const empty = graph.constant(elem, [1, decoder.kvHeads, 0, decoder.headDim], new Uint8Array())
  const made = makeTokens(tokenParams, config, context, {
    token: chosen.token,
    position: reshape(length, [1, 1]),
    prompt: prompt.keyValues,
    since: prompt.keyValues.map(() => ({ keys: empty, values: empty })),
    rounds: min(sub(maxNewTokens, i64(graph, 1)), sub(i64(graph, decoder.window), length)),
    proceed: goesOn(stopIds, chosen.token),
    stopIds,
    ropes,
  })

  const first = { tokens: chosen.token, logprobs: chosen.logprob, attention: prompt.attention }
  answerOutputs(graph, context, (part) => concat([flatten(first[part], 1), flatten(made[part], 'n-1')], 0, 'n'))
  keyValueOutputs(graph, 'prompt', prompt.keyValues)
  return graph
}

/**
 * Continues an answer of {@link cepeGenerateGraph} with the same operations, so that a chain of runs gives the results of one run: token
 * i64 [1,1], the last one generated, position i64 [1,1], phi, stop_ids, max_new_tokens as there, prompt.{i}.key|value
 * [1,kv_heads,P,head_dim] from that graph, since.{i}.key|value [1,kv_heads,S,head_dim] of the tokens read since (S = 0 at first) -> tokens
 * i64 [n], logprobs f32 [n], attention f32 [n,m], made.{i}.key|value [1,kv_heads,S+n,head_dim], the next run's `since`.
 */
export function cepeContinueGraph(checkpoint: Checkpoint, config: CepeConfig, precision: Precision): Graph {
  const graph = new Graph('cepe_continue')
  const { decoder } = config
  const token = graph.input('token', 'i64', [1, 1])
  const position = graph.input('position', 'i64', [1, 1])
  const context = phiInput(graph, config, precision)
  const stopIds = graph.input('stop_ids', 'i64', ['K'])
  const maxNewTokens = graph.input('max_new_tokens', 'i64', [])
  const caches = (name: string, length: string): KeyValues[] =>
    keyValueInputs(graph, name, config, { elem: precision.float, batch: 1, length })
  const made = makeTokens(new Params(graph, checkpoint, precision).with(precision.tokens), config, context, {
    token,
    position,
    prompt: caches('prompt', 'L'),
    since: caches('since', 'since'),
    rounds: min(maxNewTokens, sub(i64(graph, decoder.window), reshape(position, []))),
    proceed: lessOrEqual(i64(graph, 1), maxNewTokens),
    stopIds,
    ropes: decoderRopes(graph, decoder, precision.float),
  })
  answerOutputs(graph, context, (part) => flatten(made[part], 'n'))
  keyValueOutputs(graph, 'made', made.since)
  return graph
}

/** `flat` gives the values of all tokens in one axis. */
function answerOutputs(graph: Graph, { phi }: Context, flat: (part: 'tokens' | 'logprobs' | 'attention') => Value): void {
  const tokens = flat('tokens')
  graph.output('tokens', tokens)
  graph.output('logprobs', flat('logprobs'))
  // With zero iterations the Loop does not define m, so the sizes must not depend on it.
  const sizes = concat([sizeOf(tokens, 0), sizeOf(phi, 0)], 0)
  graph.output('attention', reshapeTo(flat('attention'), sizes, ['n', 'm']))
}

function goesOn(stopIds: Value, token: Value): Value {
  const { graph } = stopIds
  return graph.scope('stop', () => not(less(i64(graph, 0), reduceSum(cast(equal(stopIds, reshape(token, [])), 'i64'), 0))))
}

interface Begun {
  /** i64 [1,1]: generated, not read yet. */
  readonly token: Value
  /** i64 [1,1]: its position. */
  readonly position: Value
  /** For every layer. */
  readonly prompt: readonly KeyValues[]
  /** For every layer: tokens generated and read since. */
  readonly since: readonly KeyValues[]
  /** i64 scalar: maximum tokens to generate. */
  readonly rounds: Value
  /** bool scalar: whether to generate any. */
  readonly proceed: Value
  readonly stopIds: Value
  readonly ropes: ByLayer<Rope>
}

/** Generates tokens in a Loop that carries their keys and values; the prompt's stay outside it. */
function makeTokens(params: Params, config: CepeConfig, context: Context, begun: Begun) {
  const { graph, precision } = params
  const { decoder } = config
  const { stopIds, ropes } = begun
  const promptCache = begun.prompt.map(groupedKeyValues)
  const sinceType = { elem: precision.float, shape: [1, decoder.kvHeads, 'since', decoder.headDim] }
  const carried: Carried[] = [
    { name: 'token', initial: begun.token },
    { name: 'position', initial: begun.position },
    ...begun.since.flatMap(({ keys, values }, i) => [
      { name: `since.${i}.keys`, initial: keys, type: sinceType },
      { name: `since.${i}.values`, initial: values, type: sinceType },
    ]),
  ]
  const pairs = (caches: readonly Value[]): KeyValues[] =>
    begun.since.map((_, i) => ({ keys: at(caches, 2 * i), values: at(caches, 2 * i + 1) }))
  const start = { maxRounds: begun.rounds, proceed: begun.proceed, carried, rounds: 'n-1' }
  const { carried: left, scans } = loop(start, ([token, position, ...caches]) => {
    const since = pairs(caches)
    const here = present(position)
    const rotations = ropes.map((rope) => rope.at(here, () => flatten(add(here, i64(graph, 1)), 1)))
    const hidden = byLayer(
      decoder,
      (local) => local && windowBiases(here, at(promptCache, 0).keys, { window: local.window, elem: precision.float, made: MADE }),
    )
    const made = pass(
      { params, config, ids: present(token), context },
      {
        self: (p, x, i) =>
          decodeSelfAttention({ params: p, x, heads: decoder }, rotations.of(i), {
            prompt: at(promptCache, i),
            since: at(since, i),
            made: MADE,
            hidden: hidden.of(i),
          }),
        cross: (p, x) => decodeCrossAttention({ params: p, x, context, heads: decoder }),
      },
    )
    const next = choose(params, config, made.stream)
    return {
      proceed: goesOn(stopIds, next.token),
      carried: [next.token, add(here, i64(graph, 1)), ...made.keyValues.flatMap(({ keys, values }) => [keys, values])],
      scans: [next.token, next.logprob, made.attention],
    }
  })
  return { tokens: at(scans, 0), logprobs: at(scans, 1), attention: at(scans, 2), since: pairs(left.slice(2)) }
}
