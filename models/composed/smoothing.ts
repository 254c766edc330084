import { basename } from 'node:path'
import { sha256OfFile } from '../../base/files.ts'
import type { Checkpoint, TensorInfo } from '../checkpoint/checkpoint.ts'
import type { LlamaConfig } from '../checkpoint/config/config.ts'
import { combinedRevision, openWeightFile } from '../checkpoint/file.ts'
import { readSafetensorsIndex } from '../checkpoint/safetensors.ts'
import { f32Tensor, readTensor, toF32, withChanged } from '../checkpoint/weights.ts'
import { invalid, unsupported } from '../errors.ts'

/**
 * Where factors of a layer's channels apply: the module that makes the channels is divided by them, those that read them are multiplied, so
 * that the layer computes the same.
 */
const READ_BY: Readonly<Record<string, readonly string[]>> = {
  input_layernorm: ['self_attn.q_proj', 'self_attn.k_proj', 'self_attn.v_proj'],
  post_attention_layernorm: ['mlp.gate_proj', 'mlp.up_proj'],
  'self_attn.v_proj': ['self_attn.o_proj'],
  'mlp.up_proj': ['mlp.down_proj'],
}

const STORED = /^((?:model|encoder)\.layers\.\d+\.)(.+)\.smoothing$/

/** Factors of a tensor's rows and columns. */
interface Changes {
  readonly divided?: Float32Array
  readonly multiplied?: Float32Array
}

/** The vectors of a safetensors file. @throws checkpoint_invalid for a tensor that is no vector, and for a factor that is not positive */
async function readFactors(path: string): Promise<ReadonlyMap<string, Float32Array>> {
  const file = await openWeightFile(path)
  const vectors = new Map<string, Float32Array>()
  for (const info of (await readSafetensorsIndex(file)).tensors) {
    const { name, shape } = info
    if (shape.length !== 1) throw invalid(`${basename(path)}: ${name} is no vector; compute the factors again`, name)
    const factors = toF32(name, await readTensor(file, info))
    if (factors.some((factor) => factor <= 0))
      throw invalid(`${basename(path)}: ${name} has a factor that is not positive; compute the factors again`, name)
    vectors.set(name, factors)
  }
  return vectors
}

/** The factors of value heads for the columns that read them: query heads that share a value head share its factors. */
function perQueryHead(factors: Float32Array, { heads, kvHeads, headDim }: LlamaConfig): Float32Array {
  const group = heads / kvHeads
  return Float32Array.from({ length: factors.length * group }, (_, column) => {
    const head = Math.floor(column / headDim / group)
    return factors[head * headDim + (column % headDim)] as number
  })
}

/** Changes by tensor. @throws checkpoint_invalid for factors that fit no layer of the checkpoint */
function changesOf(
  factors: ReadonlyMap<string, Float32Array>,
  tensors: ReadonlyMap<string, TensorInfo>,
  config: LlamaConfig,
): ReadonlyMap<string, Changes> {
  const changes = new Map<string, Changes>()
  const change = (stored: string, name: string, part: keyof Changes, own: Float32Array): void => {
    const { shape = [] } = tensors.get(name) ?? {}
    const [rows, columns] = shape
    if (own.length !== (part === 'divided' ? rows : columns))
      throw invalid(`${stored} has ${own.length} factors where ${name} is [${shape.join(', ')}]; compute the factors again`, stored)
    changes.set(name, { ...changes.get(name), [part]: own })
  }
  for (const [stored, own] of factors) {
    const [, layer = '', module = ''] = STORED.exec(stored) ?? []
    const readers = READ_BY[module]
    if (readers === undefined || !tensors.has(`${layer}${module}.weight`))
      throw invalid(`${stored} belongs to no layer of this checkpoint; compute the factors again`, stored)
    for (const part of ['weight', 'bias'])
      if (tensors.has(`${layer}${module}.${part}`)) change(stored, `${layer}${module}.${part}`, 'divided', own)
    const read = module === 'self_attn.v_proj' ? perQueryHead(own, config) : own
    for (const reader of readers) change(stored, `${layer}${reader}.weight`, 'multiplied', read)
  }
  return changes
}

/** Multiplies the columns of a matrix [rows,columns] in place, and divides its rows; a vector has rows alone. */
function scaled(values: Float32Array, [rows = 0]: readonly number[], { divided, multiplied }: Changes): Float32Array {
  const columns = values.length / rows
  for (let row = 0; row < rows; row++) {
    const from = row * columns
    const divisor = divided?.[row] ?? 1
    for (let column = 0; column < columns; column++) {
      const factor = multiplied === undefined ? 1 : (multiplied[column] as number)
      values[from + column] = ((values[from + column] as number) * factor) / divisor
    }
  }
  return values
}

/**
 * The same model with channels of even size: large channels of a layer's activations are divided, and the matrices that read them multiplied,
 * so that activations lose less when they are rounded to 8 bits (Xiao et al. 2023, SmoothQuant, section 4). The file (safetensors) has a
 * vector `<module>.smoothing` for each divided module. Tensors are scaled on read, as float32.
 * @throws checkpoint_invalid if factors fit no tensor; unsupported for layers with other norms than LLaMA's
 */
export async function withSmoothing(checkpoint: Checkpoint, path: string): Promise<Checkpoint> {
  const { config } = checkpoint
  if (config.architecture !== 'cepe' || config.decoder.postNorms || config.decoder.normsLessOne)
    throw unsupported('smoothing fits layers as LLaMA and Qwen have them; leave it out of config.json', 'smoothing')
  const changes = changesOf(await readFactors(path), checkpoint.tensors, config.decoder)
  const smooth = withChanged(checkpoint, (name) => {
    const change = changes.get(name)
    return change && ((stored) => f32Tensor(scaled(toF32(name, stored), stored.shape, change), stored.shape))
  })
  return { ...smooth, revision: combinedRevision(checkpoint.revision, await sha256OfFile(path)) }
}
