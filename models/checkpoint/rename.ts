import { invalid } from '../errors.ts'
import type { CepeConfig, ContrieverConfig, LlamaConfig, ModelConfig, ModernBertConfig, RerankerConfig } from './config/config.ts'
import { WEIGHT_DTYPES } from './dtype.ts'
import type { TensorInfo } from './checkpoint.ts'

type Shapes = Map<string, readonly number[]>

/** The tensors of one stack of LLaMA blocks: embeddings, layers, final norm. */
function llamaTensors(shapes: Shapes, prefix: 'model' | 'encoder', config: LlamaConfig): void {
  const { hiddenSize: d, intermediateSize: mlp, heads, kvHeads, headDim } = config
  shapes.set(`${prefix}.embed_tokens.weight`, [config.vocabSize, d])
  for (let layer = 0; layer < config.layers; layer++) {
    const block = `${prefix}.layers.${layer}`
    shapes.set(`${block}.input_layernorm.weight`, [d])
    shapes.set(`${block}.self_attn.q_proj.weight`, [heads * headDim, d])
    shapes.set(`${block}.self_attn.k_proj.weight`, [kvHeads * headDim, d])
    shapes.set(`${block}.self_attn.v_proj.weight`, [kvHeads * headDim, d])
    shapes.set(`${block}.self_attn.o_proj.weight`, [d, heads * headDim])
    if (config.projectionBias) {
      shapes.set(`${block}.self_attn.q_proj.bias`, [heads * headDim])
      for (const part of ['k_proj', 'v_proj']) shapes.set(`${block}.self_attn.${part}.bias`, [kvHeads * headDim])
    }
    if (config.headNorms) for (const part of ['q_norm', 'k_norm']) shapes.set(`${block}.self_attn.${part}.weight`, [headDim])
    shapes.set(`${block}.post_attention_layernorm.weight`, [d])
    if (config.postNorms) for (const part of ['pre', 'post']) shapes.set(`${block}.${part}_feedforward_layernorm.weight`, [d])
    shapes.set(`${block}.mlp.gate_proj.weight`, [mlp, d])
    shapes.set(`${block}.mlp.up_proj.weight`, [mlp, d])
    shapes.set(`${block}.mlp.down_proj.weight`, [d, mlp])
  }
  shapes.set(`${prefix}.norm.weight`, [d])
}

function cepeTensors(config: CepeConfig): Shapes {
  const shapes: Shapes = new Map()
  const { decoder } = config
  llamaTensors(shapes, 'model', decoder)
  if (!decoder.tieWordEmbeddings) shapes.set('lm_head.weight', [decoder.vocabSize, decoder.hiddenSize])
  if (config.encoder === null) return shapes
  llamaTensors(shapes, 'encoder', config.encoder)
  const inner = decoder.heads * decoder.headDim
  const keyed = decoder.kvHeads * decoder.headDim
  for (let layer = decoder.layers - config.crossAttentionLayers; layer < decoder.layers; layer++) {
    const block = `model.layers.${layer}.cross_attn`
    shapes.set(`${block}.layernorm.weight`, [decoder.hiddenSize])
    shapes.set(`${block}.q_proj.weight`, [inner, decoder.hiddenSize])
    shapes.set(`${block}.k_proj.weight`, [keyed, config.encoder.hiddenSize])
    shapes.set(`${block}.v_proj.weight`, [keyed, config.encoder.hiddenSize])
    shapes.set(`${block}.o_proj.weight`, [decoder.hiddenSize, inner])
  }
  return shapes
}

function modernBertTensors({ vocabSize, hiddenSize: d, intermediateSize: mlp, layers }: ModernBertConfig): Shapes {
  const shapes: Shapes = new Map()
  shapes.set('embeddings.tok_embeddings.weight', [vocabSize, d])
  shapes.set('embeddings.norm.weight', [d])
  for (let layer = 0; layer < layers; layer++) {
    const block = `layers.${layer}`
    // The first layer reads the embeddings, which are already normalised.
    if (layer > 0) shapes.set(`${block}.attn_norm.weight`, [d])
    shapes.set(`${block}.attn.Wqkv.weight`, [3 * d, d])
    shapes.set(`${block}.attn.Wo.weight`, [d, d])
    shapes.set(`${block}.mlp_norm.weight`, [d])
    shapes.set(`${block}.mlp.Wi.weight`, [2 * mlp, d])
    shapes.set(`${block}.mlp.Wo.weight`, [d, mlp])
  }
  shapes.set('final_norm.weight', [d])
  return shapes
}

/** Names of the two dense layers of a cross-encoder's head. */
export const RERANKER_HEADS = { bert: ['pooler.dense', 'classifier'], roberta: ['classifier.dense', 'classifier.out_proj'] } as const

function bertTensors(config: ContrieverConfig | RerankerConfig): Shapes {
  const shapes: Shapes = new Map()
  const { hiddenSize: d, intermediateSize: mlp } = config
  const dense = (name: string, rows: number, columns: number): void => {
    shapes.set(`${name}.weight`, [rows, columns])
    shapes.set(`${name}.bias`, [rows])
  }
  const layerNorm = (name: string): void => {
    shapes.set(`${name}.weight`, [d])
    shapes.set(`${name}.bias`, [d])
  }
  shapes.set('embeddings.word_embeddings.weight', [config.vocabSize, d])
  shapes.set('embeddings.position_embeddings.weight', [config.firstPosition + config.window, d])
  shapes.set('embeddings.token_type_embeddings.weight', [config.typeVocabSize, d])
  layerNorm('embeddings.LayerNorm')
  for (let layer = 0; layer < config.layers; layer++) {
    const block = `encoder.layer.${layer}`
    for (const projection of ['query', 'key', 'value']) dense(`${block}.attention.self.${projection}`, d, d)
    dense(`${block}.attention.output.dense`, d, d)
    layerNorm(`${block}.attention.output.LayerNorm`)
    dense(`${block}.intermediate.dense`, mlp, d)
    dense(`${block}.output.dense`, d, mlp)
    layerNorm(`${block}.output.LayerNorm`)
  }
  if (config.architecture === 'reranker') {
    const [inner, score] = RERANKER_HEADS[config.family]
    dense(inner, d, d)
    dense(score, 1, d)
  }
  return shapes
}

/** The tensors required by the architecture: canonical name -> shape, matrices as [out, in]. */
export function expectedTensors(config: ModelConfig): ReadonlyMap<string, readonly number[]> {
  if (config.architecture === 'cepe') return cepeTensors(config)
  return config.family === 'modern' ? modernBertTensors(config) : bertTensors(config)
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

const MANY = 5
function listed(names: readonly string[]): string {
  return names.length <= MANY ? names.join(', ') : `${names.slice(0, MANY).join(', ')} and ${names.length - MANY} more`
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
