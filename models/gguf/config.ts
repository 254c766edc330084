import { CodedError } from '../../base/errors.ts'
import type { CepeConfig } from '../checkpoint/config.ts'
import { parseConfig } from '../checkpoint/config-parse.ts'
import { invalid, unsupported } from '../errors.ts'
import type { GgufHeader } from './header.ts'
import { booleanIn, numberIn, stringIn, type Metadata } from './metadata.ts'

const HUGGING_FACE = 'build from the Hugging Face folder of the model instead'

function checkArchitecture(metadata: Metadata): void {
  const key = 'general.architecture'
  const architecture = stringIn(metadata, key)
  if (architecture === undefined) throw invalid(`metadata ${key} is missing; convert the model again`, key)
  if (architecture !== 'llama') {
    throw unsupported(
      `metadata ${key} is ${JSON.stringify(architecture)}; supported is "llama": take another model, or ${HUGGING_FACE} where that is supported`,
      key,
    )
  }
  const experts = numberIn(metadata, 'llama.expert_count') ?? 0
  if (experts > 0)
    throw unsupported(`metadata llama.expert_count is ${experts}; supported is a LLaMA without experts`, 'llama.expert_count')
}

function required(metadata: Metadata, key: string): number {
  const value = numberIn(metadata, key)
  if (value === undefined) throw invalid(`metadata ${key} is missing; convert the model again`, key)
  return value
}

/** All of a head takes part in the rotation, and values are as wide as keys. */
function headDim(metadata: Metadata): number {
  const heads = required(metadata, 'llama.attention.head_count')
  const width = numberIn(metadata, 'llama.attention.key_length') ?? required(metadata, 'llama.embedding_length') / heads
  for (const key of ['llama.attention.value_length', 'llama.rope.dimension_count']) {
    const other = numberIn(metadata, key) ?? width
    if (other !== width) throw unsupported(`metadata ${key} is ${other}, a head has ${width}; supported is one width for both`, key)
  }
  return width
}

function ropeScaling(metadata: Metadata): object | null {
  const type = stringIn(metadata, 'llama.rope.scaling.type')
  const factor = numberIn(metadata, 'llama.rope.scaling.factor') ?? numberIn(metadata, 'llama.rope.scale_linear')
  if (type === 'none' || (type === undefined && (factor ?? 1) === 1)) return null
  const original = numberIn(metadata, 'llama.rope.scaling.original_context_length')
  return { type: type ?? 'linear', ...(factor !== undefined && { factor }), original_max_position_embeddings: original ?? null }
}

function checkRopeTensors({ tensors }: GgufHeader): void {
  const scaled = tensors.find(({ name }) => /^rope_(?:freqs|factors)/.test(name))?.name
  if (scaled !== undefined) {
    throw unsupported(
      `tensor ${JSON.stringify(scaled)} holds rotary frequencies scaled one by one (LLaMA 3.1 and later), which are not read of a GGUF file; ${HUGGING_FACE}`,
      scaled,
    )
  }
}

/** Whether prompts begin with the token of their beginning: where the file does not say, as llama.cpp decides. */
export function addsBos(metadata: Metadata): boolean {
  const said = booleanIn(metadata, 'tokenizer.ggml.add_bos_token')
  return said ?? (stringIn(metadata, 'tokenizer.ggml.model') === 'llama' || stringIn(metadata, 'tokenizer.ggml.pre') === 'llama-bpe')
}

/** The config.json that the metadata stand for: one set of checks serves both. */
function asConfigJson(header: GgufHeader): object {
  const { metadata, tensors } = header
  const embedding = tensors.find(({ name }) => name === 'token_embd.weight')
  if (embedding === undefined) throw invalid('tensor "token_embd.weight" is missing; download the model again', 'token_embd.weight')
  const eos = ['tokenizer.ggml.eos_token_id', 'tokenizer.ggml.eot_token_id'].map((key) => numberIn(metadata, key))
  return {
    architectures: ['LlamaForCausalLM'],
    vocab_size: embedding.shape[0],
    hidden_size: required(metadata, 'llama.embedding_length'),
    intermediate_size: required(metadata, 'llama.feed_forward_length'),
    num_hidden_layers: required(metadata, 'llama.block_count'),
    num_attention_heads: required(metadata, 'llama.attention.head_count'),
    num_key_value_heads: numberIn(metadata, 'llama.attention.head_count_kv') ?? null,
    head_dim: headDim(metadata),
    max_position_embeddings: required(metadata, 'llama.context_length'),
    rms_norm_eps: required(metadata, 'llama.attention.layer_norm_rms_epsilon'),
    hidden_act: 'silu',
    rope_theta: numberIn(metadata, 'llama.rope.freq_base') ?? 10_000,
    rope_scaling: ropeScaling(metadata),
    tie_word_embeddings: tensors.every(({ name }) => name !== 'output.weight'),
    bos_token_id: addsBos(metadata) ? (numberIn(metadata, 'tokenizer.ggml.bos_token_id') ?? null) : null,
    eos_token_id: [...new Set(eos.filter((id) => id !== undefined))],
    pad_token_id: numberIn(metadata, 'tokenizer.ggml.padding_token_id') ?? null,
  }
}

/**
 * The configuration of a GGUF file's LLaMA. Its output is its embedding where there is no output.weight.
 * @throws checkpoint_invalid and unsupported naming the metadata, the problem and the remedy
 */
export function ggufConfig(header: GgufHeader): CepeConfig {
  checkArchitecture(header.metadata)
  checkRopeTensors(header)
  const json = asConfigJson(header)
  try {
    const config = parseConfig(json)
    if (config.architecture !== 'cepe') throw unsupported('the metadata describe no decoder', 'general.architecture')
    return config
  } catch (thrown) {
    if (!(thrown instanceof CodedError)) throw thrown
    const message = `the metadata, written as a config.json, do not describe a LLaMA that can be built (${thrown.message})`
    throw new CodedError(thrown.code, message, { field: thrown.field, cause: thrown })
  }
}
