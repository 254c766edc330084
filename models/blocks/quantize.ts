import { f16ToF32, f32ToF16 } from '../../base/binary16.ts'

export interface QuantizeOptions {
  readonly bits: 4 | 8
  /** Consecutive inputs of an output that share a scale and a zero point. */
  readonly blockSize: number
  /** Storage type of scales; values are quantised with the stored scale. */
  readonly scaleElem: 'f32' | 'f16'
}

export function blockCount(inSize: number, blockSize: number): number {
  return Math.ceil(inSize / blockSize)
}
export function packedBytes(count: number, bits: 4 | 8): number {
  return Math.ceil((count * bits) / 8)
}

/** Scale and zero point of each block: the smallest grid of 2^bits steps that covers the block's values and 0. */
function fitBlocks(matrix: Float32Array, outSize: number, inSize: number, { bits, blockSize, scaleElem }: QuantizeOptions) {
  const blocks = blockCount(inSize, blockSize)
  const top = 2 ** bits - 1
  const lows = new Float32Array(outSize * blocks)
  const exact = new Float32Array(outSize * blocks)
  for (let block = 0; block < exact.length; block++) {
    const row = Math.floor(block / blocks)
    const from = row * inSize + (block - row * blocks) * blockSize
    const to = Math.min(from + blockSize, (row + 1) * inSize)
    let low = 0
    let high = 0
    for (let i = from; i < to; i++) {
      const value = matrix[i] as number
      if (value < low) low = value
      else if (value > high) high = value
    }
    lows[block] = low
    exact[block] = (high - low) / top
  }
  const halves = scaleElem === 'f16' ? f32ToF16(exact) : null
  const scales = halves ? f16ToF32(halves) : exact
  const zeros = new Uint8Array(scales.length)
  for (let block = 0; block < zeros.length; block++) {
    const scale = scales[block] as number
    zeros[block] = scale === 0 ? 0 : Math.min(top, Math.round(-(lows[block] as number) / scale))
  }
  const stored = halves ?? exact
  return { scales, zeros, stored: new Uint8Array(stored.buffer, stored.byteOffset, stored.byteLength) }
}

/** Packs `count` numbers per row; each row starts at a byte. */
function packRows(numbers: Uint8Array, count: number, bits: 4 | 8): Uint8Array {
  if (bits === 8) return numbers
  const rows = numbers.length / count
  const width = packedBytes(count, 4)
  const packed = new Uint8Array(rows * width)
  for (let row = 0; row < rows; row++) {
    for (let i = 0; i < count; i++) {
      const at = row * width + (i >> 1)
      packed[at] = (packed[at] as number) | ((numbers[row * count + i] as number) << ((i & 1) * 4))
    }
  }
  return packed
}

/**
 * Quantises a matrix [out,in] per block with asymmetric min-max: w is about scale * (q - zero point), q of `bits` bits. The error of a
 * value is at most half a step, (max - min) / (2^bits - 1) / 2, and as much again where the zero point is rounded.
 * @returns bytes in the layout of com.microsoft.MatMulNBits: values [out, blocks, blockSize * bits / 8], low nibble first, a row's last block
 * padded with zero points; scales [out * blocks] of scaleElem; zeroPoints [out * ceil(blocks * bits / 8)], low nibble first
 */
export function quantize(matrix: Float32Array, outSize: number, inSize: number, options: QuantizeOptions) {
  const { bits, blockSize } = options
  const blocks = blockCount(inSize, blockSize)
  const top = 2 ** bits - 1
  const { scales, zeros, stored } = fitBlocks(matrix, outSize, inSize, options)
  const numbers = new Uint8Array(outSize * blocks * blockSize)
  for (let block = 0; block < scales.length; block++) {
    const row = Math.floor(block / blocks)
    const column = (block - row * blocks) * blockSize
    const zero = zeros[block] as number
    const scale = scales[block] as number
    const inverse = scale === 0 ? 0 : 1 / scale
    const to = block * blockSize
    for (let i = 0; i < blockSize; i++) {
      const value = column + i < inSize ? (matrix[row * inSize + column + i] as number) : 0
      const q = Math.round(value * inverse) + zero
      numbers[to + i] = q < 0 ? 0 : q > top ? top : q
    }
  }
  return { values: packRows(numbers, blockSize, bits), scales: stored, zeroPoints: packRows(zeros, blocks, bits) }
}

const LARGEST = 127
/** Rows and columns of a tile, so that the transposed side stays in the CPU cache. */
const TILE = 64

/** Layout of a checkpoint's matrix: consecutive heads, each [outs,ins] or, `transposed`, [ins,outs]. */
interface Matrix {
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
 * Quantises a matrix [heads*outs, ins] of a checkpoint symmetrically per output: w is about scales[output] * value. With `transposed`, the
 * matrix is [heads*ins, outs]: a head's rows are its inputs.
 * @returns values i8 [heads,ins,outs], scales [heads*outs]
 */
export function quantizeOutputs(matrix: Float32Array, layout: Matrix) {
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
