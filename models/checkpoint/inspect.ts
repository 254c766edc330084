import { messageOf } from '../../base/errors.ts'
import type { Checkpoint, TensorInfo } from './checkpoint.ts'
import type { LlamaConfig, ModelConfig } from './config/config.ts'
import { openCheckpoint } from './open.ts'
import { checkTensors } from './rename.ts'

export interface CheckpointDescription {
  readonly name: string
  readonly format: Checkpoint['format']
  readonly revision: string
  readonly config: ModelConfig
  /** Tensors and stored bytes by dtype, in alphabetical order. */
  readonly dtypes: readonly { readonly dtype: string; readonly tensors: number; readonly bytes: number }[]
  readonly weights: number
  /** Tensors that the architecture does not use, or why no model can be built. */
  readonly outcome: { readonly unexpected: readonly string[] } | { readonly problem: string }
}

function outcomeOf(checkpoint: Checkpoint): CheckpointDescription['outcome'] {
  try {
    return checkTensors(checkpoint)
  } catch (thrown) {
    return { problem: messageOf(thrown) }
  }
}

function storedAs({ dtype, converted }: TensorInfo): string {
  return converted ? `quantised, read as ${dtype}` : dtype
}

/** Reads the headers of a checkpoint folder, Hugging Face's or composed. @throws those of openCheckpoint */
export async function inspectCheckpoint(dir: string): Promise<CheckpointDescription> {
  const checkpoint = await openCheckpoint(dir)
  try {
    const { name, format, revision, config } = checkpoint
    const tensors = [...checkpoint.tensors.values()]
    const dtypes = [...new Set(tensors.map(storedAs))].sort().map((dtype) => {
      const those = tensors.filter((tensor) => storedAs(tensor) === dtype)
      return { dtype, tensors: those.length, bytes: those.reduce((sum, { bytes }) => sum + bytes, 0) }
    })
    const weights = tensors.reduce((sum, { shape }) => sum + shape.reduce((product, dim) => product * dim, 1), 0)
    return { name, format, revision, config, dtypes, weights, outcome: outcomeOf(checkpoint) }
  } finally {
    await checkpoint.close()
  }
}

function stackLine(name: string, { layers, hiddenSize, heads, kvHeads, vocabSize, window }: LlamaConfig): string {
  return `${name}: ${layers} layers, width ${hiddenSize}, ${heads} heads (${kvHeads} key-value), vocabulary ${vocabSize}, window ${window}`
}

function configLines(config: ModelConfig): string[] {
  if (config.architecture !== 'cepe') return []
  const { decoder, encoder } = config
  if (encoder === null) return [stackLine('decoder', decoder), 'no encoder: all passages are read in the prompt']
  return [stackLine('decoder', decoder), stackLine('encoder', encoder), `cross-attention in the last ${config.crossAttentionLayers} layers`]
}

/** Formats for the terminal. */
export function formatCheckpoint({ name, format, revision, config, dtypes, weights, outcome }: CheckpointDescription): string {
  const count = dtypes.reduce((sum, { tensors }) => sum + tensors, 0)
  return [
    `${name}: ${config.architecture} checkpoint (${format}), ${weights.toLocaleString('en')} weights in ${count} tensors`,
    'problem' in outcome ? `cepe build cannot build it: ${outcome.problem}` : `cepe build can build it; revision ${revision}`,
    ...configLines(config),
    ...dtypes.map(({ dtype, tensors, bytes }) => `  ${dtype}: ${tensors} tensors, ${(bytes / 1e6).toFixed(2)} MB`),
    ...('unexpected' in outcome && outcome.unexpected.length > 0 ? [`  not used: ${outcome.unexpected.join(', ')}`] : []),
  ].join('\n')
}
