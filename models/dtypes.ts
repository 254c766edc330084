/** Precisions that graphs are built in. */
export const DTYPES = ['f32', 'int8', 'int8-blocks', 'int8+int4', 'int4', 'f16', 'f16-int4'] as const

/**
 * True if ONNX Runtime's CUDA provider computes a model's products and attention in this precision. Otherwise they run on the CPU, with a copy at
 * each: a reader's GroupQueryAttention in f32, 8-bit products of rows in every model.
 */
export function runsOnCuda(architecture: string, dtype: (typeof DTYPES)[number]): boolean {
  return architecture === 'cepe' ? dtype.startsWith('f16') : dtype !== 'int8' && dtype !== 'int8+int4'
}
