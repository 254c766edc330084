import { f16ToF32, f32ToF16 } from '../../base/binary16.ts'

export interface QuantizeOptions {
  readonly bits: 4 | 8
  /** Consecutive inputs of an output that share a scale and a zero point. */
  readonly blockSize: number
  /** Storage type of scales; values are quantised with the stored scale. */
  readonly scaleElem: 'f32' | 'f16'
}

/** A matrix [out,in] in the layout of com.microsoft.MatMulNBits. */
export interface Quantized {
  /** [out, blocks, blockSize * bits / 8], low nibble first; a row's last block is padded with zero points. */
  readonly values: Uint8Array
  /** [out * blocks] as bytes of scaleElem. */
  readonly scales: Uint8Array
  /** [out * ceil(blocks * bits / 8)], low nibble first. */
  readonly zeroPoints: Uint8Array
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
 */
export function quantize(matrix: Float32Array, outSize: number, inSize: number, options: QuantizeOptions): Quantized {
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
