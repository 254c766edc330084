import type { QaDefaults } from '../manifest.ts'
import type { ModelConfig } from './config/config.ts'
import type { EmbeddingStyle } from './config/sentence-transformers.ts'
import type { TensorDtype } from './dtype.ts'
import type { TokenizerFiles } from '../tokenizer/tokenizer-json.ts'

/** Location of a tensor: `bytes` little-endian, row-major bytes from `offset` of `file`. Sufficient to reference it in place. */
export interface TensorInfo {
  /** Canonical name (rename.ts), the key in Checkpoint.tensors. */
  readonly name: string
  readonly dtype: TensorDtype
  readonly shape: readonly number[]
  /** Absolute path of the shard. */
  readonly file: string
  readonly offset: number
  readonly bytes: number
  /** The bytes in the file are not of `dtype` and `shape`: only Checkpoint.read returns those. */
  readonly converted?: true
}

export interface RawTensor {
  readonly dtype: TensorDtype
  readonly shape: readonly number[]
  /** Little-endian, row-major; owns its buffer from byte 0, so any typed array can view it. */
  readonly data: Uint8Array
}

/** A checkpoint, a folder or a GGUF file: config validated, tensor headers read; tensor data is read on request, one tensor at a time. */
export interface Checkpoint {
  /** Absolute path of the folder or file. */
  readonly dir: string
  /** Name of the folder, or of the file without extension, for messages. */
  readonly name: string
  readonly format: 'safetensors' | 'torch' | 'gguf'
  readonly config: ModelConfig
  /** The checkpoint's own question answering settings (qa_config.json), if present. */
  readonly qaDefaults?: QaDefaults | undefined
  /** It was trained on prompts without a chat template: its tokenizer's is left out. */
  readonly plainPrompts?: boolean
  /** How a retriever's vectors are computed, for a sentence-transformers folder; default: as Contriever's. */
  readonly embedding?: EmbeddingStyle | undefined
  /** By canonical name. */
  readonly tensors: ReadonlyMap<string, TensorInfo>
  /** SHA-256 (hex) of the weights, independent of the folder's location. */
  readonly revision: string
  /** Bytes as stored. @throws checkpoint_invalid for an unknown name, a short file, a NaN or infinite weight. */
  read(name: string): Promise<RawTensor>
  /** The tokenizer contained in the checkpoint; null if there is none. @throws those of ggufTokenizer */
  tokenizer?(): TokenizerFiles | null
}
