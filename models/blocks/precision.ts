import type { Dtype } from '../manifest.ts'

export const BLOCK_SIZES = [32, 128] as const

/** Options of builds with 4-bit matrices. */
export interface Int4Options {
  /** Weights per scale: 32 is closer to the original, 128 is smaller (4.2 bits per weight instead of 5.1) and faster. */
  readonly blockSize: (typeof BLOCK_SIZES)[number]
  /** Precision of the output projection: 8 bits, or the build's float type. */
  readonly lmHead: 'int8' | 'float'
}

export const INT4_DEFAULTS: Int4Options = { blockSize: 128, lmHead: 'int8' }

/** 4 or 8 bits with one scale per block of consecutive inputs of an output (MatMulNBits). */
export interface BlockForm {
  readonly kind: 'blocks'
  readonly bits: 4 | 8
  readonly blockSize: number
}

/** 8 bits with one scale per output; activations also in 8 bits, one scale per row (int8.ts). */
interface RowForm {
  readonly kind: 'rows'
}

/** How a matrix is stored and multiplied; null is the build's float type. */
export type MatrixForm = BlockForm | RowForm | null

/** Types of a build: the meaning of a dtype for the graphs. */
export interface Precision {
  /** Activations, norms and every matrix without another form. */
  readonly float: 'f32' | 'f16'
  /** Embedding tables: half precision if the matrices are quantised. */
  readonly table: 'f32' | 'f16'
  /** Projections and MLPs. */
  readonly matrices: MatrixForm
  /** The form for tokens generated after the prompt. */
  readonly tokens: MatrixForm
  /** Keys and values of the cross-attention: for all of phi, and for single queries (absorbed). */
  readonly context: RowForm | null
  readonly head: MatrixForm
}

const ROWS: RowForm = { kind: 'rows' }
/** int8-blocks: one scale per 32 inputs, for weights and activations, preserves the most likely tokens of small models. */
const FINE: BlockForm = { kind: 'blocks', bits: 8, blockSize: 32 }

/** The storage form of each kind of weight in a dtype. */
export function precisionOf(dtype: Dtype, { blockSize, lmHead }: Int4Options = INT4_DEFAULTS): Precision {
  const blocks: BlockForm = { kind: 'blocks', bits: 4, blockSize }
  const blockHead: MatrixForm = lmHead === 'int8' ? { kind: 'blocks', bits: 8, blockSize } : null
  const rowHead = lmHead === 'int8' ? ROWS : null
  switch (dtype) {
    case 'f32':
    case 'f16':
      return { float: dtype, table: dtype, matrices: null, tokens: null, context: null, head: null }
    case 'int8':
      return { float: 'f32', table: 'f16', matrices: ROWS, tokens: ROWS, context: ROWS, head: rowHead }
    case 'int8-blocks':
      return { float: 'f32', table: 'f16', matrices: FINE, tokens: FINE, context: null, head: lmHead === 'int8' ? FINE : null }
    case 'int8+int4':
      return { float: 'f32', table: 'f16', matrices: ROWS, tokens: blocks, context: ROWS, head: rowHead }
    case 'int4':
      return { float: 'f32', table: 'f16', matrices: blocks, tokens: blocks, context: ROWS, head: blockHead }
    // 8-bit products of rows are only available on the CPU.
    case 'f16-int4':
      return { float: 'f16', table: 'f16', matrices: blocks, tokens: blocks, context: null, head: blockHead }
  }
}
