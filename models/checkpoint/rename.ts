import { invalid, listed } from '../errors.ts'
import type { CepeConfig, ContrieverConfig, LlamaConfig, ModelConfig, ModernBertConfig, RerankerConfig } from './config/config.ts'
import { WEIGHT_DTYPES } from './dtype.ts'
import type { TensorInfo } from './checkpoint.ts'

/** A module with a weight of this shape and, where it has a bias, one number for each of the weight's rows. */
type Module = readonly [name: string, shape: readonly number[], hasBias?: boolean]

/** Modules of each of the layers `from` to `to`, exclusive. */
function inLayers(prefix: string, modules: readonly Module[], to: number, from = 0): Module[] {
  const layers = Array.from({ length: to - from }, (_, i) => `${prefix}.${from + i}`)
  return layers.flatMap((layer) => modules.map(([name, ...rest]): Module => [`${layer}.${name}`, ...rest]))
}

/** One stack of LLaMA blocks: embeddings, layers, final norm. */
function llamaModules(prefix: 'model' | 'encoder', config: LlamaConfig): Module[] {
  const { hiddenSize: d, intermediateSize: mlp, heads, kvHeads, headDim, projectionBias } = config
  const [queries, keys] = [heads * headDim, kvHeads * headDim]
  const layer: Module[] = [
    ['input_layernorm', [d]],
    ['self_attn.q_proj', [queries, d], projectionBias],
    ['self_attn.k_proj', [keys, d], projectionBias],
    ['self_attn.v_proj', [keys, d], projectionBias],
    ['self_attn.o_proj', [d, queries]],
    ...['q_norm', 'k_norm'].flatMap((name): Module[] => (config.headNorms ? [[`self_attn.${name}`, [headDim]]] : [])),
    ['post_attention_layernorm', [d]],
    ...['pre', 'post'].flatMap((place): Module[] => (config.postNorms ? [[`${place}_feedforward_layernorm`, [d]]] : [])),
    ['mlp.gate_proj', [mlp, d]],
    ['mlp.up_proj', [mlp, d]],
    ['mlp.down_proj', [d, mlp]],
  ]
  return [[`${prefix}.embed_tokens`, [config.vocabSize, d]], ...inLayers(`${prefix}.layers`, layer, config.layers), [`${prefix}.norm`, [d]]]
}

function cepeModules({ decoder, encoder, crossAttentionLayers }: CepeConfig): Module[] {
  const { hiddenSize: d, heads, kvHeads, headDim, layers } = decoder
  const head: Module[] = decoder.tieWordEmbeddings ? [] : [['lm_head', [decoder.vocabSize, d]]]
  const alone = [...llamaModules('model', decoder), ...head]
  if (encoder === null) return alone
  const cross: Module[] = [
    ['cross_attn.layernorm', [d]],
    ['cross_attn.q_proj', [heads * headDim, d]],
    ['cross_attn.k_proj', [kvHeads * headDim, encoder.hiddenSize]],
    ['cross_attn.v_proj', [kvHeads * headDim, encoder.hiddenSize]],
    ['cross_attn.o_proj', [d, heads * headDim]],
  ]
  return [...alone, ...llamaModules('encoder', encoder), ...inLayers('model.layers', cross, layers, layers - crossAttentionLayers)]
}

function modernBertModules({ vocabSize, hiddenSize: d, intermediateSize: mlp, layers }: ModernBertConfig): Module[] {
  const layer: Module[] = [
    ['attn_norm', [d]],
    ['attn.Wqkv', [3 * d, d]],
    ['attn.Wo', [d, d]],
    ['mlp_norm', [d]],
    ['mlp.Wi', [2 * mlp, d]],
    ['mlp.Wo', [d, mlp]],
  ]
  return [
    ['embeddings.tok_embeddings', [vocabSize, d]],
    ['embeddings.norm', [d]],
    // The first layer reads the embeddings, which are already normalised.
    ...inLayers('layers', layer, layers).filter(([name]) => name !== 'layers.0.attn_norm'),
    ['final_norm', [d]],
  ]
}

/** Names of the two dense layers of a cross-encoder's head. */
export const RERANKER_HEADS = { bert: ['pooler.dense', 'classifier'], roberta: ['classifier.dense', 'classifier.out_proj'] } as const

function bertModules(config: ContrieverConfig | RerankerConfig): Module[] {
  const { hiddenSize: d, intermediateSize: mlp } = config
  const layer: Module[] = [
    ['attention.self.query', [d, d], true],
    ['attention.self.key', [d, d], true],
    ['attention.self.value', [d, d], true],
    ['attention.output.dense', [d, d], true],
    ['attention.output.LayerNorm', [d], true],
    ['intermediate.dense', [mlp, d], true],
    ['output.dense', [d, mlp], true],
    ['output.LayerNorm', [d], true],
  ]
  const heads = config.architecture === 'reranker' ? RERANKER_HEADS[config.family] : []
  return [
    ['embeddings.word_embeddings', [config.vocabSize, d]],
    ['embeddings.position_embeddings', [config.firstPosition + config.window, d]],
    ['embeddings.token_type_embeddings', [config.typeVocabSize, d]],
    ['embeddings.LayerNorm', [d], true],
    ...inLayers('encoder.layer', layer, config.layers),
    ...heads.map((name, i): Module => [name, [i === 0 ? d : 1, d], true]),
  ]
}

function modulesOf(config: ModelConfig): Module[] {
  if (config.architecture === 'cepe') return cepeModules(config)
  return config.family === 'modern' ? modernBertModules(config) : bertModules(config)
}

/** The tensors required by the architecture: canonical name -> shape, matrices as [out, in]. */
export function expectedTensors(config: ModelConfig): ReadonlyMap<string, readonly number[]> {
  return new Map(
    modulesOf(config).flatMap(([name, shape, hasBias = false]) => [
      [`${name}.weight`, shape] as const,
      ...(hasBias ? [[`${name}.bias`, shape.slice(0, 1)] as const] : []),
    ]),
  )
}

/**
 * The canonical name of a stored tensor. LLaMA and CEPE keep theirs; BERT's lose the prefix of the enclosing model (`bert.`, `roberta.`,
 * `model.`), and LayerNorm's gamma and beta of TensorFlow become weight and bias.
 */
export function canonicalName(architecture: ModelConfig['architecture'], stored: string): string {
  return architecture === 'cepe'
    ? stored
    : stored
        .replace(/^(?:model\.|bert\.|roberta\.)+/, '')
        .replace(/LayerNorm\.gamma$/, 'LayerNorm.weight')
        .replace(/LayerNorm\.beta$/, 'LayerNorm.bias')
}

/** Tensors in checkpoints that no graph reads: buffers, and training heads. */
const IGNORED: Readonly<Record<ModelConfig['architecture'], RegExp>> = {
  cepe: /(?:\.rotary_emb\.inv_freq|\.position_ids)$|^encoder\.lm_head\./,
  contriever: /(?:^|\.)position_ids$|^(?:pooler|cls|lm_head)\./,
  reranker: /(?:^|\.)position_ids$|^(?:pooler|cls)\./,
}

function isIgnored(config: ModelConfig, name: string): boolean {
  return (
    IGNORED[config.architecture].test(name) ||
    (config.architecture === 'cepe' && config.decoder.tieWordEmbeddings && name === 'lm_head.weight')
  )
}

/**
 * Compares a checkpoint's tensors with expectedTensors(config).
 * @returns `unexpected`: unused ones, which deserve a warning
 * @throws checkpoint_invalid if one is missing, or has another shape or an invalid dtype
 */
export function checkTensors(checkpoint: { readonly config: ModelConfig; readonly tensors: ReadonlyMap<string, TensorInfo> }): {
  readonly unexpected: readonly string[]
} {
  const { config, tensors } = checkpoint
  const expected = expectedTensors(config)
  const missing = [...expected.keys()].filter((name) => !tensors.has(name))
  const message = `the checkpoint lacks ${missing.length} of the ${expected.size} tensors that its config.json needs: ${listed(missing)}`
  if (missing.length > 0) throw invalid(message, missing[0])
  const unexpected: string[] = []
  for (const [name, { shape, dtype }] of tensors) {
    const wanted = expected.get(name)
    if (wanted === undefined) {
      if (!isIgnored(config, name)) unexpected.push(name)
      continue
    }
    if (shape.length !== wanted.length || shape.some((dim, axis) => dim !== wanted[axis]))
      throw invalid(`tensor ${name} has the shape [${shape.join(', ')}], config.json needs [${wanted.join(', ')}]`, name)
    if (!WEIGHT_DTYPES.includes(dtype)) throw invalid(`tensor ${name} is ${dtype}; weights may be ${WEIGHT_DTYPES.join(', ')}`, name)
  }
  return { unexpected }
}
