import { openAttention } from '../../../models/blocks/attention.ts'
import { scaleQueries } from '../../../models/blocks/scores.ts'
import { projected, type Context, type CrossAttended, type CrossAttention } from '../../../models/blocks/cross-attention.ts'
import type { CrossStrategy } from '../../../models/graphs/cepe-generate.ts'
import { fusedMatmul } from '../../../models/onnx/contrib.ts'
import type { Value } from '../../../models/onnx/graph.ts'
import { expand, f32, matmul, reshape, sizeOf, softmax, transpose } from '../../../models/onnx/ops.ts'

/** Omits attention shares, so that alternatives do not pay for what only the real graph returns. */
function noShare({ phi }: Context): Value {
  return expand(f32(phi.graph, 0), sizeOf(phi, 0), ['m'])
}

function project({ params, x, context, heads }: CrossAttention): CrossAttended {
  return params.in('cross_attn', (q) => ({
    output: q.linear(projected(q, q.linear(x, 'q_proj'), context.phi, heads), 'o_proj'),
    share: noShare(context),
  }))
}

/** Like the reference implementation: projects keys and values of all of phi again for every token. */
export function reprojecting(): CrossStrategy {
  return { prompt: project, decode: project }
}

/** Projects keys and values of every layer once and caches them: 2 kv_heads head_dim numbers per context row and layer. */
export function caching(): CrossStrategy {
  const kept = new Map<number, { keys: Value; values: Value }>()
  return {
    prompt: ({ params, x, context, heads }, layer) =>
      params.in('cross_attn', (p) => {
        const [keys, values] = [p.contextLinear(context.phi, 'k_proj'), p.contextLinear(context.phi, 'v_proj')]
        const byHead = (y: Value): Value => transpose(reshape(y, ['m', heads.kvHeads, heads.headDim]), [1, 0, 2])
        kept.set(layer, { keys: byHead(keys), values: byHead(values) })
        const all = (y: Value): Value => reshape(y, [1, 'm', heads.kvHeads * heads.headDim])
        const attended = openAttention({ q: p.linear(x, 'q_proj'), k: all(keys), v: all(values) }, null, heads)
        return { output: p.linear(attended, 'o_proj'), share: noShare(context) }
      }),
    decode: ({ params, x, context, heads: { heads, kvHeads, headDim } }, layer) =>
      params.in('cross_attn', (p) => {
        const cache = kept.get(layer)
        if (!cache) throw new Error(`layer ${layer} was not prepared`)
        const q = scaleQueries(reshape(p.linear(x, 'q_proj'), [kvHeads, heads / kvHeads, headDim]), headDim)
        const attended = matmul(softmax(fusedMatmul(q, cache.keys, { transB: true })), cache.values)
        return { output: p.linear(reshape(attended, [1, 1, heads * headDim]), 'o_proj'), share: noShare(context) }
      }),
  }
}
