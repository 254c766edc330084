import type { Checkpoint, TensorInfo } from '../checkpoint/types.ts'
import { invalid } from '../errors.ts'
import { fusedMatmul, matMulNBits } from '../onnx/contrib.ts'
import type { Graph, Value } from '../onnx/graph.ts'
import { cast, gather, gemm } from '../onnx/ops.ts'
import type { MatrixBits, Precision } from './precision.ts'
import { floatWeight, quantizedWeights } from './weight-source.ts'

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
    return this.graph.weight(floatWeight(this.#checkpoint, this.#info(name), this.precision.float))
  }

  /** A matrix [heads*head_dim, in] seen as [heads, head_dim, in]: the same bytes. */
  heads(name: string, heads: number): Value {
    const weight = floatWeight(this.#checkpoint, this.#info(name), this.precision.float)
    const [rows = 0, columns = 0] = weight.shape
    return this.graph.weight({ ...weight, name: `${weight.name}.heads`, shape: [heads, rows / heads, columns] })
  }

  /** Rows `ids` (any shape) of the embedding table `name`.weight [N,d], in the float type. */
  embedding(name: string, ids: Value): Value {
    return this.in(name, (p) => {
      const { float, table } = this.precision
      const weight = floatWeight(this.#checkpoint, p.#info('weight'), table)
      return cast(gather(this.graph.weight(table === float ? weight : { ...weight, name: `${weight.name}.${table}` }), ids), float)
    })
  }

  /** x [...,in] -> x W^T [...,out] with the matrix `name`.weight [out,in]. */
  linear(x: Value, name: string): Value {
    const { matrices } = this.precision
    return matrices ? this.#quantizedLinear(x, name, matrices) : this.floatLinear(x, name)
  }

  /** As linear, never quantised. */
  floatLinear(x: Value, name: string): Value {
    return this.in(name, (p) => fusedMatmul(x, p.tensor('weight'), { transB: true }))
  }

  /** x [N,in] -> x W^T + b [N,out] with `name`.weight [out,in] and `name`.bias [out]. */
  linearBias(x: Value, name: string): Value {
    const { matrices } = this.precision
    return this.in(name, (p) => (matrices ? p.#quantized(x, matrices, p.tensor('bias')) : gemm(x, p.tensor('weight'), p.tensor('bias'))))
  }

  /** The output projection: lm_head.weight [V,d], or the embedding matrix where they are tied. */
  head(x: Value, tied: boolean): Value {
    const { head } = this.precision
    const name = tied ? 'model.embed_tokens' : 'lm_head'
    return head ? this.#quantizedLinear(x, name, head) : this.floatLinear(x, name)
  }

  #quantizedLinear(x: Value, name: string, bits: MatrixBits): Value {
    return this.in(name, (p) => p.#quantized(x, bits, null))
  }

  #quantized(x: Value, { bits, blockSize }: MatrixBits, bias: Value | null): Value {
    const info = this.#info('weight')
    const [outSize = 0, inSize = 0] = info.shape
    const weights = quantizedWeights(this.#checkpoint, info, { bits, blockSize, scaleElem: this.precision.float })
    const matrix = {
      values: this.graph.weight(weights.values),
      scales: this.graph.weight(weights.scales),
      zeroPoints: this.graph.weight(weights.zeroPoints),
      bits,
      blockSize,
      inSize,
      outSize,
    }
    return matMulNBits(x, matrix, bias)
  }

  #info(name: string): TensorInfo {
    const full = `${this.#prefix}${name}`
    const info = this.#checkpoint.tensors.get(full)
    if (!info) throw invalid(`tensor ${full} is missing from ${this.#checkpoint.name}; the checkpoint is incomplete`, full)
    return info
  }
}
