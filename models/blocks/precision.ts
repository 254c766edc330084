import type { Dtype } from '../manifest.ts'

export const BLOCK_SIZES = [32, 128] as const
export type BlockSize = (typeof BLOCK_SIZES)[number]

/** Choices of the int4 and f16-int4 builds. */
export interface Int4Options {
  /** Weights that share a scale: 32 is closer to the original, 128 is smaller (4.2 bits a weight, not 5.1) and faster. */
  readonly blockSize: BlockSize
  /** Precision of the output projection: 8 bits, or the build's float type. */
  readonly lmHead: 'int8' | 'float'
}

export const INT4_DEFAULTS: Int4Options = { blockSize: 32, lmHead: 'int8' }

export interface MatrixBits {
  readonly bits: 4 | 8
  readonly blockSize: number
}

/** Types of a build: what each dtype of the manifest means for the graphs. */
export interface Precision {
  /** Activations, norms and every matrix that is not quantised: the cross-attention's keys and values always. */
  readonly float: 'f32' | 'f16'
  /** Embedding tables: half precision where the matrices are quantised. */
  readonly table: 'f32' | 'f16'
  /** Projections and MLPs; null for the float type. */
  readonly matrices: MatrixBits | null
  readonly head: MatrixBits | null
}

export function precisionOf(dtype: Dtype, int4: Int4Options = INT4_DEFAULTS): Precision {
  const quantised = dtype === 'int4' || dtype === 'f16-int4'
  const float = dtype === 'f32' || dtype === 'int4' ? 'f32' : 'f16'
  return {
    float,
    table: quantised ? 'f16' : float,
    matrices: quantised ? { bits: 4, blockSize: int4.blockSize } : null,
    head: quantised && int4.lmHead === 'int8' ? { bits: 8, blockSize: int4.blockSize } : null,
  }
}
