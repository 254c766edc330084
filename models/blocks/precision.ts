import type { Dtype } from '../manifest.ts'

export const BLOCK_SIZES = [32, 128] as const
export type BlockSize = (typeof BLOCK_SIZES)[number]

/** Choices of the builds with 4-bit matrices. */
export interface Int4Options {
  /** Weights that share a scale: 32 is closer to the original, 128 is smaller (4.2 bits a weight, not 5.1) and faster. */
  readonly blockSize: BlockSize
  /** Precision of the output projection: 8 bits, or the build's float type. */
  readonly lmHead: 'int8' | 'float'
}

export const INT4_DEFAULTS: Int4Options = { blockSize: 128, lmHead: 'int8' }

/** 4 or 8 bits, a scale for so many consecutive inputs of one output (MatMulNBits). */
export interface BlockForm {
  readonly kind: 'blocks'
  readonly bits: 4 | 8
  readonly blockSize: number
}

/** 8 bits, a scale for each output; the activations in 8 bits as well, a scale for each row (int8.ts). */
export interface RowForm {
  readonly kind: 'rows'
}

/** How a matrix is stored and multiplied; null is the build's float type. */
export type MatrixForm = BlockForm | RowForm | null

/** Types of a build: what each dtype of the manifest means for the graphs. */
export interface Precision {
  /** Activations, norms and every matrix that has no other form. */
  readonly float: 'f32' | 'f16'
  /** Embedding tables: half precision where the matrices are quantised. */
  readonly table: 'f32' | 'f16'
  /** Projections and MLPs. */
  readonly matrices: MatrixForm
  /** The same for the tokens that the generate graph makes one by one, after the prompt. */
  readonly tokens: MatrixForm
  /** Keys and values of the cross-attention: of all of phi, and applied to single queries (absorbed). */
  readonly context: RowForm | null
  /** The output projection. */
  readonly head: MatrixForm
}

const ROWS: RowForm = { kind: 'rows' }
/** Of int8-blocks: a scale for 32 inputs, for weights and activations alike, keeps small models' likeliest tokens. */
const FINE: BlockForm = { kind: 'blocks', bits: 8, blockSize: 32 }

/** How a build of that dtype keeps each kind of weight. */
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
      return { float: 'f32', table: 'f16', matrices: FINE, tokens: FINE, context: ROWS, head: lmHead === 'int8' ? FINE : null }
    case 'int8+int4':
      return { float: 'f32', table: 'f16', matrices: ROWS, tokens: blocks, context: ROWS, head: rowHead }
    case 'int4':
      return { float: 'f32', table: 'f16', matrices: blocks, tokens: blocks, context: ROWS, head: blockHead }
    // 8-bit products of rows are the CPU's.
    case 'f16-int4':
      return { float: 'f16', table: 'f16', matrices: blocks, tokens: blocks, context: null, head: blockHead }
  }
}
