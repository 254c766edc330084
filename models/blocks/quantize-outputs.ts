/** A matrix in 8 bits with one scale per output: w is about scales[output] * value. */
export interface QuantizedOutputs {
  /** i8 [in,out] (the transpose of what checkpoints store), or [heads,in,out]. */
  readonly values: Uint8Array
  /** [heads * out] */
  readonly scales: Float32Array
}

const LARGEST = 127
/** Rows and columns of a tile, so that the transposed side stays in the CPU cache. */
const TILE = 64

/** Layout of a checkpoint's matrix: consecutive heads, each [outs,ins] or, `transposed`, [ins,outs]. */
export interface Matrix {
  readonly heads: number
  readonly ins: number
  readonly outs: number
  readonly transposed?: boolean
}

function quantizePart(matrix: Float32Array, { ins, outs, transposed }: Matrix, values: Int8Array, scales: Float32Array): void {
  const [inStep, outStep] = transposed === true ? [outs, 1] : [1, ins]
  for (let from = 0; from < outs; from += TILE) {
    const to = Math.min(from + TILE, outs)
    for (let out = from; out < to; out++) {
      let most = 0
      for (let i = 0; i < ins; i++) most = Math.max(most, Math.abs(matrix[i * inStep + out * outStep] as number))
      scales[out] = most / LARGEST
    }
    for (let i = 0; i < ins; i++) {
      for (let out = from; out < to; out++) {
        const scale = scales[out] as number
        values[i * outs + out] = scale === 0 ? 0 : Math.round((matrix[i * inStep + out * outStep] as number) / scale)
      }
    }
  }
}

/**
 * Quantises a matrix [heads*outs, ins] of a checkpoint symmetrically per output: values [heads,ins,outs]. With `transposed`, the matrix is
 * [heads*ins, outs]: a head's rows are its inputs.
 */
export function quantizeOutputs(matrix: Float32Array, layout: Matrix): QuantizedOutputs {
  const { heads, ins, outs } = layout
  const values = new Int8Array(heads * ins * outs)
  const scales = new Float32Array(heads * outs)
  const size = ins * outs
  for (let head = 0; head < heads; head++) {
    quantizePart(
      matrix.subarray(head * size, (head + 1) * size),
      layout,
      values.subarray(head * size, (head + 1) * size),
      scales.subarray(head * outs, (head + 1) * outs),
    )
  }
  return { values: new Uint8Array(values.buffer), scales }
}
