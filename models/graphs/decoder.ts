import type { CepeConfig } from '../checkpoint/config/config.ts'
import type { Attended } from '../blocks/attention.ts'
import { contextOf, type Context, type CrossAttended } from '../blocks/cross-attention.ts'
import type { Precision } from '../blocks/precision.ts'
import { capped, type KeyValues } from '../blocks/scores.ts'
import { normStream, type Residual } from '../blocks/norm.ts'
import type { Params } from '../blocks/params.ts'
import type { Graph, Value } from '../onnx/graph.ts'
import { cast, concat, f32, i64s, mul, sizeOf, slice, sub, zeros } from '../onnx/ops.ts'
import { dimAt, type Dim, type Elem } from '../onnx/shapes.ts'
import { llamaLayers, type CrossLayers, type Sublayer } from './llama.ts'

/** phi f32 [m,d_enc]; a decoder without cross-attention uses only its number of rows. */
export function phiInput(graph: Graph, config: CepeConfig, precision: Precision): Context {
  const phi = graph.input('phi', 'f32', ['m', config.encoder?.hiddenSize ?? 'd_enc'])
  return contextOf(cast(phi, precision.float), precision)
}

/** Input of a pass: token ids [B,L] and phi. */
export interface Pass {
  readonly ids: Value
  readonly context: Context
}

/** Attention of a pass, for every layer: normed input [B,L,d] to output [B,L,d]. */
interface Sublayers {
  readonly self: (params: Params, normed: Value, layer: number) => Attended
  /** In the layers with cross-attention: the last ones, or none. Its queries are those of {@link asking}. */
  readonly cross: (params: Params, normed: Value) => Pick<CrossAttended, 'output'> & Partial<CrossAttended>
}

/**
 * Attention to phi writes zeros where phi has no rows. No query is passed on then, and none of its products computed: a sixth of a layer's.
 * (An If would do the same, but ONNX Runtime prepares no weights for operators of an If within a Loop.)
 * @returns a function that calls `cross` for all or none of the queries x [B,L,d], and fills up what it writes to [B,L,d]
 */
function asking({ ids, context: { given } }: Pass, width: number, elem: Elem) {
  const { graph } = ids
  const length = sizeOf(ids, 1)
  const asked = mul(length, given)
  const sizes = concat([sizeOf(ids, 0), sub(length, asked), i64s(graph, [width])], 0)
  const rest = zeros(elem, sizes, [dimAt(ids.shape, 0), 'rest', width])
  return (x: Value, cross: (queries: Value) => Value): Value =>
    concat([cross(slice(x, 1, { start: i64s(graph, [0]), end: asked }, 'asked')), rest], 1, dimAt(x.shape, 1))
}

/** The decoder's layers over token ids [B,L]: the stream [B,L,d], keys and values of every layer, and shares of the cross-attention. */
export function decoderPass(params: Params, config: CepeConfig, input: Pass, { self, cross }: Sublayers) {
  const { layers, embeddingScale, hiddenSize } = config.decoder
  const keyValues: KeyValues[] = []
  const shares: Value[] = []
  const embedded = params.in('model', (p) => {
    const rows = p.embedding('embed_tokens', input.ids)
    return embeddingScale === 1 ? rows : mul(rows, cast(f32(p.graph, embeddingScale), rows.elem))
  })
  const attend: Sublayer = (p, normed, layer) => {
    const { output, keys, values } = self(p, normed, layer)
    keyValues.push({ keys, values })
    return output
  }
  const crossLayers = (): CrossLayers => {
    const ask = params.graph.scope('asking', () => asking(input, hiddenSize, params.precision.float))
    const attendContext: Sublayer = (p, normed) =>
      ask(normed, (queries) => {
        const { output, share } = cross(p, queries)
        if (share) shares.push(share)
        return output
      })
    return { from: layers - config.crossAttentionLayers, attend: attendContext }
  }
  const stream = params.in('model', (p) => llamaLayers(p, config.decoder, embedded, { attend, cross: config.encoder && crossLayers() }))
  return { stream, keyValues, shares }
}

/** Inputs `name`.{i}.key|value [batch,kv_heads,length,head_dim] of every layer. */
export function keyValueInputs(
  graph: Graph,
  name: string,
  { decoder: { layers, kvHeads, headDim } }: CepeConfig,
  { elem, batch, length }: { readonly elem: Elem; readonly batch: Dim; readonly length: string },
): KeyValues[] {
  const cache = (i: number, part: string): Value => graph.input(`${name}.${i}.${part}`, elem, [batch, kvHeads, length, headDim])
  return Array.from({ length: layers }, (_, i) => ({ keys: cache(i, 'key'), values: cache(i, 'value') }))
}

export function keyValueOutputs(graph: Graph, name: string, keyValues: readonly KeyValues[]): void {
  keyValues.forEach(({ keys, values }, i) => {
    graph.output(`${name}.${i}.key`, keys)
    graph.output(`${name}.${i}.value`, values)
  })
}

/** Final norm and output projection: the stream [B,L,d] -> logits f32 [B,L,V]. */
export function logitsOf(params: Params, config: CepeConfig, stream: Residual): Value {
  const normed = params.in('model', (p) => normStream(p, stream, 'norm', config.decoder.rmsNormEps)[0])
  const { tieWordEmbeddings, logitCap } = config.decoder
  const logits = cast(params.head(normed, tieWordEmbeddings), 'f32')
  return logitCap === null ? logits : params.graph.scope('cap', () => capped(logits, logitCap))
}
