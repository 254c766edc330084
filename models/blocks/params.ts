import type { Checkpoint, TensorInfo } from '../checkpoint/checkpoint.ts'
import { invalid } from '../errors.ts'
import { fusedMatmul, matMulNBits } from '../onnx/contrib.ts'
import type { Graph, Value, Weight } from '../onnx/graph.ts'
import { add, cast, gather, gemm, matmul } from '../onnx/ops.ts'
import { int8HeadProduct, int8Product, type Int8 } from './int8.ts'
import type { BlockForm, MatrixForm, Precision } from './precision.ts'
import { floatWeight, int8Weights, quantizedWeights, type Int8Use } from './weight-source.ts'

/** A checkpoint's tensors as values of one graph, under a prefix that is also the scope of nodes: all names are the checkpoint's own. */
export class Params {
  constructor(
    readonly graph: Graph,
    private readonly checkpoint: Checkpoint,
    readonly precision: Precision,
    private readonly prefix = '',
  ) {}

  /** Descends into a module: `in('self_attn', (p) => ...)`. */
  in<T>(module: string, write: (params: Params) => T): T {
    return this.graph.scope(module, () => write(new Params(this.graph, this.checkpoint, this.precision, `${this.prefix}${module}.`)))
  }

  /** A tensor in the precision's float type and the checkpoint's shape. */
  tensor(name: string): Value {
    return this.graph.weight(floatWeight(this.checkpoint, this.#info(name), this.precision.float))
  }

  /** The same checkpoint with another form of matrices. */
  with(matrices: MatrixForm): Params {
    return new Params(this.graph, this.checkpoint, { ...this.precision, matrices }, this.prefix)
  }

  /**
   * x [heads,N,in] times each head's part of the matrix `name`.weight, in the form of the context's projections: `in` is head_dim and the
   * result [heads,N,columns]; with `transB` `in` is columns and the result [heads,N,head_dim].
   */
  byHead(x: Value, name: string, heads: number, { transB }: { transB: boolean }): Value {
    return this.in(name, (p) => {
      if (p.precision.context) return int8HeadProduct(x, p.#int8({ kind: transB ? 'heads' : 'heads-in', heads }))
      const weight = floatWeight(this.checkpoint, p.#info('weight'), p.precision.float)
      const [rows = 0, columns = 0] = weight.shape
      // A matrix [heads*head_dim, in] viewed as [heads, head_dim, in]: the same bytes.
      const matrices = this.graph.weight({ ...weight, name: `${weight.name}.heads`, shape: [heads, rows / heads, columns] })
      return transB ? fusedMatmul(x, matrices, { transB }) : matmul(x, matrices)
    })
  }

  /** Rows `ids` (any shape) of the embedding table `name`.weight [N,d], in the float type. */
  embedding(name: string, ids: Value): Value {
    return this.in(name, (p) => {
      const { float, table } = this.precision
      const weight = floatWeight(this.checkpoint, p.#info('weight'), table)
      return cast(gather(this.graph.weight(table === float ? weight : { ...weight, name: `${weight.name}.${table}` }), ids), float)
    })
  }

  /** x [...,in] -> x W^T [...,out] with the matrix `name`.weight [out,in]; plus `name`.bias [out] if `bias` is set. */
  linear(x: Value, name: string, { bias = false }: { readonly bias?: boolean } = {}): Value {
    return this.#linearIn(this.precision.matrices, x, name, bias)
  }

  /** As linear, in the form of the context's projections; x is phi. */
  contextLinear(x: Value, name: string): Value {
    return this.#linearIn(this.precision.context, x, name)
  }

  /** The output projection: lm_head.weight [V,d], or the embedding matrix if tied. */
  head(x: Value, tied: boolean): Value {
    return this.#linearIn(this.precision.head, x, tied ? 'model.embed_tokens' : 'lm_head')
  }

  #linearIn(form: MatrixForm, x: Value, name: string, biased = false): Value {
    return this.in(name, (p) => {
      const bias = biased ? p.tensor('bias') : null
      if (form?.kind === 'blocks') return p.#blocks(x, form, bias)
      if (form === null && bias && x.shape.length === 2) return gemm(x, p.tensor('weight'), bias)
      const product = form === null ? fusedMatmul(x, p.tensor('weight'), { transB: true }) : int8Product(x, p.#int8({ kind: 'whole' }))
      return bias ? add(product, bias) : product
    })
  }

  #int8(use: Int8Use): Int8 {
    return this.#parts(int8Weights(this.checkpoint, this.#info('weight'), use))
  }

  #parts<Part extends string>(weights: Readonly<Record<Part, Weight>>): Readonly<Record<Part, Value>> {
    const values = Object.entries<Weight>(weights).map(([part, weight]) => [part, this.graph.weight(weight)])
    return Object.fromEntries(values) as Record<Part, Value>
  }

  #blocks(x: Value, { bits, blockSize }: BlockForm, bias: Value | null): Value {
    const info = this.#info('weight')
    const [outSize = 0, inSize = 0] = info.shape
    const parts = this.#parts(quantizedWeights(this.checkpoint, info, { bits, blockSize, scaleElem: this.precision.float }))
    return matMulNBits(x, { ...parts, bits, blockSize, inSize, outSize }, bias)
  }

  #info(name: string): TensorInfo {
    const full = `${this.prefix}${name}`
    const info = this.checkpoint.tensors.get(full)
    if (!info) throw invalid(`tensor ${full} is missing from ${this.checkpoint.name}; the checkpoint is incomplete`, full)
    return info
  }
}
