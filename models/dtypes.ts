/** Precisions that graphs are built in. */
export const DTYPES = ['f32', 'int8', 'int8-blocks', 'int8+int4', 'int4', 'f16', 'f16-int4'] as const
