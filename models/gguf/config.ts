import { CodedError } from '../../base/errors.ts'
import type { CepeConfig } from '../checkpoint/config/config.ts'
import { parseConfig } from '../checkpoint/config/parse.ts'
import { invalid, unsupported } from '../errors.ts'
import type { GgufHeader } from './header.ts'
import { booleanIn, numberIn, stringIn, type Metadata } from './metadata.ts'

const HUGGING_FACE = 'build from the Hugging Face folder of the model instead'
const ARCHITECTURE = 'general.architecture'

interface Family {
  /** Name in config.json. */
  readonly architecture: string
  /** Default base of the rotation. */
  readonly base: number
  /** Layers of the model with 27 billion parameters, whose scores are scaled by another width; default caps of scores and logits. */
  readonly gemma?: Readonly<{ largest: number; scores: number | null; logits: number | null }>
}

/** By general.architecture. */
const FAMILIES: ReadonlyMap<string, Family> = new Map<string, Family>([
  ['llama', { architecture: 'LlamaForCausalLM', base: 10_000 }],
  ['qwen2', { architecture: 'Qwen2ForCausalLM', base: 10_000 }],
  ['qwen3', { architecture: 'Qwen3ForCausalLM', base: 10_000 }],
  ['gemma2', { architecture: 'Gemma2ForCausalLM', base: 10_000, gemma: { largest: 46, scores: 50, logits: 30 } }],
  ['gemma3', { architecture: 'Gemma3ForCausalLM', base: 1e6, gemma: { largest: 62, scores: null, logits: null } }],
])

/** Metadata of one architecture: keys are prefixed with `general.architecture`. */
function modelOf(metadata: Metadata) {
  const name = stringIn(metadata, ARCHITECTURE)
  if (name === undefined) throw invalid(`metadata ${ARCHITECTURE} is missing; convert the model again`, ARCHITECTURE)
  const message = `metadata ${ARCHITECTURE} is ${JSON.stringify(name)}; supported are ${[...FAMILIES.keys()].join(', ')}: take another model, or ${HUGGING_FACE} where that is supported`
  const family = FAMILIES.get(name)
  if (family === undefined) throw unsupported(message, ARCHITECTURE)
  const experts = numberIn(metadata, `${name}.expert_count`) ?? 0
  if (experts > 0) throw unsupported(`metadata ${name}.expert_count is ${experts}: take a model without experts`, `${name}.expert_count`)
  return { name, metadata, family }
}
type OfModel = ReturnType<typeof modelOf>

/** True if rows of queries and keys are not in Hugging Face's order, as in LLaMA's files. */
export function turnsRows(metadata: Metadata): boolean {
  return stringIn(metadata, ARCHITECTURE) === 'llama'
}

function optional({ name, metadata }: OfModel, key: string): number | undefined {
  return numberIn(metadata, `${name}.${key}`)
}

function required(model: OfModel, key: string): number {
  const value = optional(model, key)
  if (value === undefined) throw invalid(`metadata ${model.name}.${key} is missing; convert the model again`, `${model.name}.${key}`)
  return value
}

/** Requires that all of a head is rotated, and values are as wide as keys. */
function headDim(model: OfModel): number {
  const width = optional(model, 'attention.key_length') ?? required(model, 'embedding_length') / required(model, 'attention.head_count')
  for (const key of ['attention.value_length', 'rope.dimension_count']) {
    const other = optional(model, key) ?? width
    const name = `${model.name}.${key}`
    if (other !== width) throw unsupported(`metadata ${name} is ${other}, a head has ${width}: take a model with one width for both`, name)
  }
  return width
}

/** Metadata below rope.scaling that is read; others are factors, which change nothing if they are 1. */
const SCALING: readonly string[] = ['type', 'factor', 'original_context_length', 'finetuned', 'yarn_beta_fast', 'yarn_beta_slow']

function checkScaling({ name, metadata }: OfModel): void {
  const prefix = `${name}.rope.scaling.`
  for (const [key, value] of metadata) {
    const message = `metadata ${key} is ${JSON.stringify(value)}, a scaling that is not computed: take a model without it, or ${HUGGING_FACE}`
    if (key.startsWith(prefix) && value !== 1 && !SCALING.includes(key.slice(prefix.length))) throw unsupported(message, key)
  }
}

function ropeScaling(model: OfModel): object | null {
  const type = stringIn(model.metadata, `${model.name}.rope.scaling.type`)
  const factor = optional(model, 'rope.scaling.factor') ?? optional(model, 'rope.scale_linear')
  if (type === 'none' || (type === undefined && (factor ?? 1) === 1)) return null
  checkScaling(model)
  const original = optional(model, 'rope.scaling.original_context_length')
  const [fast, slow] = ['fast', 'slow'].map((beta) => optional(model, `rope.scaling.yarn_beta_${beta}`) ?? null)
  return {
    type: type ?? 'linear',
    ...(factor !== undefined && { factor }),
    original_max_position_embeddings: original ?? null,
    beta_fast: fast,
    beta_slow: slow,
  }
}

function checkRopeTensors({ tensors }: GgufHeader): void {
  const scaled = tensors.find(({ name }) => /^rope_(?:freqs|factors)/.test(name))?.name
  const message = `tensor ${JSON.stringify(scaled)} holds rotary frequencies scaled one by one (LLaMA 3.1 and later), which are not read of a GGUF file; ${HUGGING_FACE}`
  if (scaled !== undefined) throw unsupported(message, scaled)
}

/** Whether prompts begin with BOS: if the file does not tell, as in llama.cpp. */
export function addsBos(metadata: Metadata): boolean {
  const said = booleanIn(metadata, 'tokenizer.ggml.add_bos_token')
  return said ?? (stringIn(metadata, 'tokenizer.ggml.model') === 'llama' || stringIn(metadata, 'tokenizer.ggml.pre') === 'llama-bpe')
}

/** Fields of config.json that only Gemma has; llama.cpp infers the rest from the model's size. */
function gemmaFields(model: OfModel): object {
  const { gemma } = model.family
  if (!gemma) return {}
  const isLargest = required(model, 'block_count') === gemma.largest
  const share = required(model, 'embedding_length') / required(model, 'attention.head_count')
  const pattern = model.metadata.get(`${model.name}.attention.sliding_window_pattern`)
  const base = optional(model, 'rope.freq_base_swa')
  return {
    hidden_activation: 'gelu_pytorch_tanh',
    query_pre_attn_scalar: isLargest ? share : headDim(model),
    attn_logit_softcapping: optional(model, 'attn_logit_softcapping') ?? gemma.scores,
    final_logit_softcapping: optional(model, 'final_logit_softcapping') ?? gemma.logits,
    sliding_window: required(model, 'attention.sliding_window'),
    ...(typeof pattern === 'number' && { sliding_window_pattern: pattern }),
    ...(typeof pattern === 'object' && { layer_types: pattern.map((local) => (local === true ? 'sliding_attention' : 'full_attention')) }),
    ...(base !== undefined && { rope_local_base_freq: base }),
  }
}

/** The config.json that the metadata represents, so that both share one validation. */
function asConfigJson({ metadata, tensors }: GgufHeader): object {
  const model = modelOf(metadata)
  const embedding = tensors.find(({ name }) => name === 'token_embd.weight')
  if (embedding === undefined) throw invalid('tensor "token_embd.weight" is missing; download the model again', 'token_embd.weight')
  const eos = ['tokenizer.ggml.eos_token_id', 'tokenizer.ggml.eot_token_id'].map((key) => numberIn(metadata, key))
  return {
    architectures: [model.family.architecture],
    vocab_size: embedding.shape[0],
    hidden_size: required(model, 'embedding_length'),
    intermediate_size: required(model, 'feed_forward_length'),
    num_hidden_layers: required(model, 'block_count'),
    num_attention_heads: required(model, 'attention.head_count'),
    num_key_value_heads: optional(model, 'attention.head_count_kv') ?? null,
    head_dim: headDim(model),
    max_position_embeddings: required(model, 'context_length'),
    rms_norm_eps: required(model, 'attention.layer_norm_rms_epsilon'),
    hidden_act: 'silu',
    is_causal: booleanIn(metadata, `${model.name}.attention.causal`) ?? true,
    attention_bias: tensors.some(
      ({ name }) => name === 'blk.0.attn_output.bias' || (model.name === 'llama' && name === 'blk.0.attn_q.bias'),
    ),
    rope_theta: optional(model, 'rope.freq_base') ?? model.family.base,
    rope_scaling: ropeScaling(model),
    tie_word_embeddings: tensors.every(({ name }) => name !== 'output.weight'),
    bos_token_id: addsBos(metadata) ? (numberIn(metadata, 'tokenizer.ggml.bos_token_id') ?? null) : null,
    eos_token_id: [...new Set(eos.filter((id) => id !== undefined))],
    pad_token_id: numberIn(metadata, 'tokenizer.ggml.padding_token_id') ?? null,
    ...gemmaFields(model),
  }
}

/**
 * The configuration of a GGUF file's model. Without output.weight the output is tied to the embedding.
 * @throws checkpoint_invalid and unsupported naming the metadata, the problem and the remedy
 */
export function ggufConfig(header: GgufHeader): CepeConfig {
  const json = asConfigJson(header)
  checkRopeTensors(header)
  try {
    const config = parseConfig(json)
    if (config.architecture !== 'cepe') throw unsupported('the metadata describe no decoder: take another model', ARCHITECTURE)
    // GGUF files store norm weights in full.
    return { ...config, decoder: { ...config.decoder, normsLessOne: false } }
  } catch (thrown) {
    if (!(thrown instanceof CodedError)) throw thrown
    const message = `the metadata, written as a config.json, do not describe a model that can be built (${thrown.message}): take another model`
    throw new CodedError(thrown.code, message, { field: thrown.field, cause: thrown })
  }
}
