/** Rotary embedding scaling of a decoder extended beyond its training window. */
export type RopeScaling =
  /**
   * Position interpolation (Chen et al. 2023): frequencies divided by factor; and another basis without another model (Giraffe, Pal et al.
   * 2023): then, with `power`, pair i of n times (1 - i/n)^power; then, with `truncateAt`, those below that frequency replaced by a
   * sixteenth of it, or by 0 below an eighth of it.
   */
  | { readonly type: 'linear'; readonly factor: number; readonly power?: number | null; readonly truncateAt?: number | null }
  /** YaRN (Peng et al. 2023): per-frequency interpolation between betaFast and betaSlow rotations; cos and sin times attentionFactor. */
  | {
      readonly type: 'yarn'
      readonly factor: number
      readonly originalWindow: number
      readonly attentionFactor: number
      readonly betaFast: number
      readonly betaSlow: number
    }
  /** LLaMA 3.1's: pairs that turn less than lowTurns times in the original window divided by factor, above highTurns kept, a ramp between. */
  | {
      readonly type: 'llama3'
      readonly factor: number
      readonly originalWindow: number
      readonly lowTurns: number
      readonly highTurns: number
    }
  /** Positions with random steps, uniform over [least, 1), drawn once for a graph (Giraffe, section 4). */
  | { readonly type: 'randomised'; readonly least: number; readonly seed: number }
  /**
   * xPos (Sun et al. 2022, as Giraffe computes it): in addition to its rotation, pair j of a query at position p is multiplied by
   * z_j^((p - window/2) / scaleBase), that of a key divided by it, z_j = (2j + 0.4 head_dim) / (1.4 head_dim). Interleaved,
   * as published, pair j is channels (2j, 2j + 1); otherwise it is LLaMA's (j, j + head_dim/2).
   */
  | { readonly type: 'xpos'; readonly scaleBase: number; readonly interleaved: boolean }
  /**
   * A basis that depends on the length ("dynamic NTK"): a text of n > originalWindow tokens has theta (factor n / originalWindow - (factor
   * - 1))^(head_dim / (head_dim - 2)) for theta.
   */
  | { readonly type: 'dynamic'; readonly factor: number; readonly originalWindow: number }

/** Sliding-window attention in some layers of a stack. */
export interface LocalLayers {
  /** Tokens. */
  readonly window: number
  /** For each layer, whether it is local. */
  readonly layers: readonly boolean[]
  /** Base of their rotary embedding, which is not scaled. */
  readonly ropeTheta: number
}

/** Sizes of any stack of layers. */
type StackSizes = Readonly<Record<'vocabSize' | 'hiddenSize' | 'intermediateSize' | 'layers' | 'heads', number>>

/** One LLaMA stack: CEPE's decoder or its encoder. */
export interface LlamaConfig extends StackSizes {
  /** Fewer than heads with grouped-query attention; divides heads. */
  readonly kvHeads: number
  readonly headDim: number
  /** Most positions: max_position_embeddings. */
  readonly window: number
  readonly rmsNormEps: number
  readonly ropeTheta: number
  readonly ropeScaling: RopeScaling | null
  /** Queries, keys and values have biases (Qwen 2). */
  readonly projectionBias: boolean
  /** Each head of queries and keys is normalised before rotation (Qwen 3, Gemma 3). */
  readonly headNorms: boolean
  readonly activation: 'silu' | 'gelu-tanh'
  readonly scoreScale: number
  /** Scores s become cap tanh(s / cap) (Gemma 2); null for none. */
  readonly scoreCap: number | null
  /** The same for the output's logits. */
  readonly logitCap: number | null
  /** Layers with local attention; null if all tokens see all earlier ones. */
  readonly local: LocalLayers | null
  readonly embeddingScale: number
  /** Outputs of attention and MLP are normalised as well (Gemma). */
  readonly postNorms: boolean
  /** The checkpoint stores norms' weights less 1 (Gemma's Hugging Face folders). */
  readonly normsLessOne: boolean
  /** The output projection is the embedding matrix (no lm_head.weight). Always true for the encoder, which has no output used here. */
  readonly tieWordEmbeddings: boolean
}

export interface SpecialTokens {
  readonly bosId: number | null
  readonly eosIds: readonly number[]
  readonly padId: number | null
}

interface DecoderConfig {
  readonly architecture: 'cepe'
  readonly decoder: LlamaConfig
  readonly tokens: SpecialTokens
}

/** CEPE: the last crossAttentionLayers (>= 1) decoder layers attend to the encoder's states. */
export interface CepeReaderConfig extends DecoderConfig {
  readonly crossAttentionLayers: number
  readonly encoder: LlamaConfig
  /** A token of a passage attends to the tokens before it only, as in the decoder that the encoder was taken from. */
  readonly causalEncoder: boolean
}

/** A plain LLaMA: the decoder-only baselines. */
export interface DecoderOnlyConfig extends DecoderConfig {
  readonly crossAttentionLayers: 0
  readonly encoder: null
}

/** Narrow with `config.encoder === null`. */
export type CepeConfig = CepeReaderConfig | DecoderOnlyConfig

/** Fields common to all text encoders. */
interface TextEncoderConfig extends StackSizes {
  /** Maximum tokens of one text, special tokens included. */
  readonly window: number
  readonly layerNormEps: number
  readonly padId: number
}

/** A stack of BERT layers, including XLM-R's. */
export interface BertConfig extends TextEncoderConfig {
  /** XLM-R's special tokens are <s> and </s>, its positions start after the padding id. */
  readonly family: 'bert' | 'roberta'
  /** Row of the position table of a text's first token. */
  readonly firstPosition: number
  readonly typeVocabSize: number
}

/** A retriever: BERT with pooled states. */
export interface ContrieverConfig extends BertConfig {
  readonly architecture: 'contriever'
}

/** ModernBERT as retriever: rotary positions, local layers, gated MLP, no biases. */
export interface ModernBertConfig extends TextEncoderConfig {
  readonly architecture: 'contriever'
  readonly family: 'modern'
  readonly ropeTheta: number
  /** Layers whose tokens see a window on either side; null if all see all. */
  readonly local: LocalLayers | null
}

export type RetrieverConfig = ContrieverConfig | ModernBertConfig

/** A cross-encoder: one score for a query with a passage. */
export interface RerankerConfig extends BertConfig {
  readonly architecture: 'reranker'
}

export type ModelConfig = CepeConfig | RetrieverConfig | RerankerConfig
