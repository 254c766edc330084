/** Supported tensor types of GGUF: weights and bytes per block (github.com/ggml-org/ggml, docs/gguf.md). */
export const GGUF_TYPES = {
  F32: { id: 0, weights: 1, bytes: 4 },
  F16: { id: 1, weights: 1, bytes: 2 },
  Q4_0: { id: 2, weights: 32, bytes: 18 },
  Q4_1: { id: 3, weights: 32, bytes: 20 },
  Q5_0: { id: 6, weights: 32, bytes: 22 },
  Q5_1: { id: 7, weights: 32, bytes: 24 },
  Q8_0: { id: 8, weights: 32, bytes: 34 },
  Q4_K: { id: 12, weights: 256, bytes: 144 },
  Q5_K: { id: 13, weights: 256, bytes: 176 },
  Q6_K: { id: 14, weights: 256, bytes: 210 },
  BF16: { id: 30, weights: 1, bytes: 2 },
} as const

export type GgufType = keyof typeof GGUF_TYPES

/** The supported types by their numbers in a file. */
export const TYPES_BY_ID: ReadonlyMap<number, GgufType> = new Map(
  (Object.keys(GGUF_TYPES) as GgufType[]).map((name) => [GGUF_TYPES[name].id, name]),
)

/** Names of unsupported types, for messages. */
export const OTHER_TYPES: Readonly<Record<number, string>> = {
  9: 'Q8_1',
  10: 'Q2_K',
  11: 'Q3_K',
  15: 'Q8_K',
  16: 'IQ2_XXS',
  17: 'IQ2_XS',
  18: 'IQ3_XXS',
  19: 'IQ1_S',
  20: 'IQ4_NL',
  21: 'IQ3_S',
  22: 'IQ2_S',
  23: 'IQ4_XS',
  24: 'I8',
  25: 'I16',
  26: 'I32',
  27: 'I64',
  28: 'F64',
  29: 'IQ1_M',
  34: 'TQ1_0',
  35: 'TQ2_0',
  39: 'MXFP4',
}
