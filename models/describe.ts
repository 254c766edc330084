import { keyGrowth, rotaryFrequencies } from './blocks/rope.ts'
import type { CepeConfig, LlamaConfig, RerankerConfig, RetrieverConfig } from './checkpoint/config/config.ts'
import { expectedTensors } from './checkpoint/rename.ts'
import type { Checkpoint } from './checkpoint/checkpoint.ts'
import type { EmbeddingStyle } from './checkpoint/config/sentence-transformers.ts'
import { BUILDER_VERSION, type CepeManifest, type Dtype, GRAPHS_VERSION, type ModelManifest } from './manifest.ts'
import { OPSET } from './onnx/shapes.ts'
import type { WrittenFile } from './onnx/write.ts'
import { protocolOf } from './protocol.ts'
import { endTokens, frontToken } from './tokenizer/bos.ts'
import { requiredTokenId } from './tokenizer/files.ts'
import type { TokenizerFiles } from './tokenizer/tokenizer-json.ts'

function rotaryOf(decoder: LlamaConfig): NonNullable<CepeManifest['rotary']> | null {
  const { ropeScaling: scaling, local } = decoder
  if (scaling?.type === 'randomised' || (local !== null && (scaling !== null || local.ropeTheta !== decoder.ropeTheta))) return null
  if (scaling?.type === 'dynamic') return { by_length: true }
  const frequencies = [...rotaryFrequencies(decoder)]
  return scaling?.type === 'xpos'
    ? { frequencies, interleaved: scaling.interleaved, key_growth: [...keyGrowth(decoder, scaling)] }
    : { frequencies }
}

function cepeFields({ decoder, encoder, crossAttentionLayers, tokens }: CepeConfig, tokenizer: TokenizerFiles | null) {
  return {
    architecture: 'cepe' as const,
    graphs: {
      encoder: encoder && 'cepe_encoder.onnx',
      generate: 'cepe_generate.onnx',
      continue: 'cepe_continue.onnx',
      step: 'cepe_step.onnx',
    },
    dims: {
      vocab_size: decoder.vocabSize,
      hidden_size: decoder.hiddenSize,
      layers: decoder.layers,
      heads: decoder.heads,
      kv_heads: decoder.kvHeads,
      head_dim: decoder.headDim,
      window: decoder.window,
      cross_attention_layers: crossAttentionLayers,
      encoder_vocab_size: encoder?.vocabSize ?? 0,
      encoder_hidden_size: encoder?.hiddenSize ?? 0,
      encoder_layers: encoder?.layers ?? 0,
      encoder_window: encoder?.window ?? 0,
    },
    rotary: rotaryOf(decoder),
    tokens: {
      bos_id: tokenizer ? frontToken(tokenizer, tokens.bosId) : tokens.bosId,
      eos_ids: endTokens(tokens.eosIds, tokenizer),
      pad_id: tokens.padId,
    },
  }
}

function encoderDims({ vocabSize, hiddenSize, layers, heads, window }: RetrieverConfig | RerankerConfig, maxTokens = window) {
  return { vocab_size: vocabSize, hidden_size: hiddenSize, layers, heads, window: Math.min(window, maxTokens) }
}

function contrieverFields(config: RetrieverConfig, tokenizer: TokenizerFiles | null, embedding: EmbeddingStyle | undefined) {
  return {
    architecture: 'contriever' as const,
    graphs: { embed: 'contriever.onnx' },
    dims: encoderDims(config, embedding?.maxTokens ?? undefined),
    ...(embedding && {
      embedding: {
        pooling: embedding.pooling,
        normalised: embedding.normalised,
        query_prompt: embedding.queryPrompt,
        ...(embedding.passagePrompt !== undefined && { passage_prompt: embedding.passagePrompt }),
      },
    }),
    tokens: bertTokens(config, tokenizer),
  }
}

function rerankerFields(config: RerankerConfig, tokenizer: TokenizerFiles | null) {
  const { family, typeVocabSize } = config
  return {
    architecture: 'reranker' as const,
    graphs: { rank: 'reranker.onnx' },
    dims: encoderDims(config),
    tokens: {
      ...bertTokens(config, tokenizer),
      separators: family === 'roberta' ? 2 : 1,
      passage_type: family === 'bert' && typeVocabSize > 1 ? 1 : 0,
    },
  }
}

/** Names of the tokens before and after a text. */
const BERT_TOKENS = { bert: ['[CLS]', '[SEP]'], modern: ['[CLS]', '[SEP]'], roberta: ['<s>', '</s>'] } as const

function bertTokens({ family, padId }: RetrieverConfig | RerankerConfig, tokenizer: TokenizerFiles | null) {
  const [cls_id, sep_id] = BERT_TOKENS[family].map((token) => tokenizer && requiredTokenId(tokenizer.tokenizer, token))
  return { cls_id: cls_id ?? null, sep_id: sep_id ?? null, pad_id: padId }
}

export function describeModel(
  checkpoint: Checkpoint,
  tokenizer: TokenizerFiles | null,
  dtype: Dtype,
  files: readonly WrittenFile[],
): ModelManifest {
  const { config } = checkpoint
  const shapes = [...expectedTensors(config).values()]
  const common = {
    builder_version: BUILDER_VERSION,
    graphs_version: GRAPHS_VERSION,
    built_at: new Date().toISOString(),
    dtype,
    opset: OPSET,
    source: { name: checkpoint.name, revision: checkpoint.revision },
    files: [...files],
    parameters: shapes.reduce((sum, shape) => sum + shape.reduce((product, dim) => product * dim, 1), 0),
  }
  if (config.architecture === 'reranker') return { ...common, ...rerankerFields(config, tokenizer) }
  return config.architecture === 'contriever'
    ? { ...common, ...contrieverFields(config, tokenizer, checkpoint.embedding) }
    : { ...common, ...cepeFields(config, tokenizer), qa_defaults: checkpoint.qaDefaults ?? protocolOf(config) }
}
