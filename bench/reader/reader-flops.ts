import type { CepeReaderConfig } from '../../models/checkpoint/config/config.ts'

/** Multiply-adds count as two operations; norms, softmax and embeddings are ignored. */

/** Encoder over passages of the given lengths. */
export function encoderFlops(
  { encoder: { hiddenSize: d, intermediateSize: ff, layers } }: CepeReaderConfig,
  lengths: readonly number[],
): number {
  return layers * lengths.reduce((sum, length) => sum + 2 * length * (4 * d * d + 3 * d * ff) + 4 * length * length * d, 0)
}

/** Width of the decoder's keys: kv_heads * head_dim. */
function keyWidth({ decoder: { kvHeads, headDim } }: CepeReaderConfig): number {
  return kvHeads * headDim
}

/** Weights of the decoder used per token, without keys and values of the cross-attention. */
function tokenWeights({
  decoder: { hiddenSize: d, intermediateSize: ff, heads, kvHeads, layers },
  crossAttentionLayers,
}: CepeReaderConfig): number {
  return layers * (2 * d * d + (2 * d * d * kvHeads) / heads + 3 * d * ff) + crossAttentionLayers * 2 * d * d
}

/** A prompt of `length` tokens over `rows` of phi, up to the first token's logits. */
export function prefillFlops(config: CepeReaderConfig, length: number, rows: number): number {
  const {
    decoder: { hiddenSize: d, vocabSize, layers },
    encoder,
    crossAttentionLayers,
  } = config
  const cross = crossAttentionLayers * (4 * rows * encoder.hiddenSize * keyWidth(config) + 4 * length * rows * d)
  return 2 * length * tokenWeights(config) + layers * 2 * length * length * d + cross + 2 * d * vocabSize
}

/** Absorbed cross-attention of one token over `rows` of phi. */
export function absorbedFlops(
  { decoder: { heads, hiddenSize: d }, encoder, crossAttentionLayers }: CepeReaderConfig,
  rows: number,
): number {
  return crossAttentionLayers * (4 * heads * rows * encoder.hiddenSize + 4 * d * encoder.hiddenSize)
}

/** Bytes of f32 weights that one new token reads. */
export function tokenBytes(config: CepeReaderConfig): number {
  const {
    decoder: { hiddenSize: d, vocabSize },
    encoder,
    crossAttentionLayers,
  } = config
  return 4 * (tokenWeights(config) + crossAttentionLayers * 2 * keyWidth(config) * encoder.hiddenSize + d * vocabSize)
}
