import type { Checkpoint } from '../checkpoint/types.ts'
import { fusedMatmul } from '../onnx/contrib.ts'
import type { Graph, Value, Weight } from '../onnx/graph.ts'
import { gemm } from '../onnx/ops.ts'
import { invalid } from '../errors.ts'
import type { Precision } from './precision.ts'
import { floatWeight } from './weight-source.ts'

/**
 * A checkpoint's tensors as values of one graph, under a name prefix that is the nodes' scope as well: parameter and
 * node names are the checkpoint's own.
 */
export class Params {
  readonly graph: Graph
  readonly precision: Precision
  readonly #checkpoint: Checkpoint
  readonly #prefix: string

  constructor(graph: Graph, checkpoint: Checkpoint, precision: Precision, prefix = '') {
    this.graph = graph
    this.precision = precision
    this.#checkpoint = checkpoint
    this.#prefix = prefix
  }

  /** Descends into a module: `in('self_attn', (p) => ...)`. */
  in<T>(module: string, write: (params: Params) => T): T {
    return this.graph.scope(module, () => write(new Params(this.graph, this.#checkpoint, this.precision, `${this.#prefix}${module}.`)))
  }

  /** A tensor in the precision's float type and the checkpoint's shape. */
  tensor(name: string): Value {
    return this.graph.weight(this.#weight(name))
  }

  /** A matrix [heads*head_dim, in] seen as [heads, head_dim, in]: the same bytes. */
  heads(name: string, heads: number): Value {
    const weight = this.#weight(name)
    const [rows = 0, columns = 0] = weight.shape
    return this.graph.weight({ ...weight, name: `${weight.name}.heads`, shape: [heads, rows / heads, columns] })
  }

  /** x [...,in] -> x W^T [...,out] with the matrix `name`.weight [out,in]. */
  linear(x: Value, name: string): Value {
    return this.floatLinear(x, name)
  }

  /** As linear, never quantised. */
  floatLinear(x: Value, name: string): Value {
    return this.in(name, (p) => fusedMatmul(x, p.tensor('weight'), { transB: true }))
  }

  /** x [N,in] -> x W^T + b [N,out] with `name`.weight [out,in] and `name`.bias [out]. */
  linearBias(x: Value, name: string): Value {
    return this.in(name, (p) => gemm(x, p.tensor('weight'), p.tensor('bias')))
  }

  /** The output projection: lm_head.weight [V,d], or the embedding matrix where they are tied. */
  head(x: Value, tied: boolean): Value {
    return this.linear(x, tied ? 'model.embed_tokens' : 'lm_head')
  }

  #weight(name: string): Weight {
    const full = `${this.#prefix}${name}`
    const info = this.#checkpoint.tensors.get(full)
    if (!info) throw invalid(`tensor ${full} is missing from ${this.#checkpoint.name}; the checkpoint is incomplete`, full)
    return floatWeight(this.#checkpoint, info, this.precision.float)
  }
}
