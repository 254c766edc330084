import { messageOf } from '../../base/errors.ts'
import type { Checkpoint } from './checkpoint.ts'
import type { LlamaConfig, ModelConfig } from './config/config.ts'
import { openCheckpoint } from './open.ts'
import { checkTensors } from './rename.ts'

export function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(2)} MB`
}

export function weightsIn(tensors: readonly { readonly shape: readonly number[] }[]): string {
  const weights = tensors.reduce((sum, { shape }) => sum + shape.reduce((product, dim) => product * dim, 1), 0)
  return `${weights.toLocaleString('en')} weights in ${tensors.length} tensors`
}

/** A line for each type of tensor, in alphabetical order: how many, and their stored bytes. */
export function typeLines<T extends { readonly bytes: number }>(tensors: readonly T[], typeOf: (tensor: T) => string): string[] {
  return [...new Set(tensors.map(typeOf))].sort().map((type) => {
    const those = tensors.filter((tensor) => typeOf(tensor) === type)
    return `  ${type}: ${those.length} tensors, ${megabytes(those.reduce((sum, { bytes }) => sum + bytes, 0))}`
  })
}

/** Whether a model can be built, and the tensors that no graph uses. */
function outcomeOf(checkpoint: Checkpoint): { readonly line: string; readonly unexpected: readonly string[] } {
  try {
    return { line: `cepe build can build it; revision ${checkpoint.revision}`, ...checkTensors(checkpoint) }
  } catch (thrown) {
    return { line: `cepe build cannot build it: ${messageOf(thrown)}`, unexpected: [] }
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

/** Describes a checkpoint folder, Hugging Face's or composed, for the terminal. @throws those of openCheckpoint */
export async function inspectCheckpoint(dir: string): Promise<string> {
  const checkpoint = await openCheckpoint(dir)
  try {
    const { name, format, config } = checkpoint
    const tensors = [...checkpoint.tensors.values()]
    const { line, unexpected } = outcomeOf(checkpoint)
    return [
      `${name}: ${config.architecture} checkpoint (${format}), ${weightsIn(tensors)}`,
      line,
      ...configLines(config),
      ...typeLines(tensors, ({ dtype, converted }) => (converted ? `quantised, read as ${dtype}` : dtype)),
      ...(unexpected.length > 0 ? [`  not used: ${unexpected.join(', ')}`] : []),
    ].join('\n')
  } finally {
    await checkpoint.close()
  }
}
