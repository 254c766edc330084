import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { exists } from '../base/exists.ts'
import { sealed } from '../base/json.ts'
import { withAdapters } from './adapter/merge.ts'
import { type RopeOption, ropeName, withRope } from './blocks/rope-option.ts'
import { type Int4Options, type Precision, precisionOf } from './blocks/precision.ts'
import { openCheckpoint } from './open-checkpoint.ts'
import { checkTensors } from './checkpoint/rename.ts'
import type { ModelConfig } from './checkpoint/config/config.ts'
import type { Checkpoint } from './checkpoint/checkpoint.ts'
import { describeModel } from './describe.ts'
import { invalid, listed, unsupported } from './errors.ts'
import { cepeEncoderGraph } from './graphs/cepe-encoder.ts'
import { cepeContinueGraph, cepeGenerateGraph } from './graphs/cepe-generate.ts'
import { cepeStepGraph } from './graphs/cepe-step.ts'
import { contrieverGraph, rerankerGraph } from './graphs/text-encoders.ts'
import { BUILDER_VERSION, type Dtype, MANIFEST_FILE, type ModelManifest } from './manifest.ts'
import type { Graph } from './onnx/graph.ts'
import { writeGraphs, writeSmallFile, type WriteProgress, type WrittenFile } from './onnx/write.ts'
import { fillFolder } from './staging.ts'
import { checkRoundTrip } from './tokenizer/round-trip.ts'
import { fitTokenizer, tokenizerFiles } from './tokenizer/files.ts'
import type { TokenizerFiles } from './tokenizer/tokenizer-json.ts'

/** External data of all graphs of a built model. */
const DATA_FILE = 'weights.bin'

export interface BuildOptions {
  /** Hugging Face folder (config.json, safetensors or torch .bin weights, tokenizer) or GGUF file. */
  readonly checkpointDir: string
  /** Folder of the built model; an older build in it is replaced when the new one is complete. */
  readonly outDir: string
  readonly dtype: Dtype
  /** For the int4 and f16-int4 builds; default INT4_DEFAULTS. */
  readonly int4?: Int4Options
  /** Reference weights in the checkpoint's files, hard-linked into outDir, if they are stored in the dtype's float type. */
  readonly inPlace?: boolean
  /** Folders of LoRA adapters in PEFT's layout, merged into the matrices in this order. */
  readonly adapters?: readonly string[]
  /** Rotary scaling and window of the decoder, instead of the checkpoint's. */
  readonly rope?: RopeOption
  readonly onProgress?: (progress: WriteProgress) => void
  /** Called with warnings, such as tensors that no graph uses. */
  readonly onWarning?: (message: string) => void
  /** Cancels the build between two weights; the promise rejects with the signal's reason. */
  readonly signal?: AbortSignal
}

/** The checkpoint with the option's values in its configuration. */
function withOptions(checkpoint: Checkpoint, rope: RopeOption): Checkpoint {
  const { config, name } = checkpoint
  if (rope.rope === undefined && rope.window === undefined) return checkpoint
  if (config.architecture !== 'cepe') throw unsupported('--rope and --window change a decoder; this checkpoint has none', 'rope')
  return { ...checkpoint, name: ropeName(name, rope), config: { ...config, decoder: withRope(config.decoder, rope) } }
}

/** @throws checkpoint_invalid if the output projection is stored, and is not the embedding that config.json ties it to */
async function checkTied(checkpoint: Checkpoint): Promise<void> {
  const { config, tensors } = checkpoint
  if (config.architecture !== 'cepe' || !config.decoder.tieWordEmbeddings || !tensors.has('lm_head.weight')) return
  const [head, embedding] = [await checkpoint.read('lm_head.weight'), await checkpoint.read('model.embed_tokens.weight')]
  const message =
    'config.json: tie_word_embeddings is true, but lm_head.weight is stored and differs from model.embed_tokens.weight: set it to false to use lm_head.weight, or save the model without it'
  if (!isDeepStrictEqual(head, embedding)) throw invalid(message, 'tie_word_embeddings')
}

function configWarnings(config: ModelConfig): string[] {
  if (config.architecture !== 'cepe') return []
  const { ropeScaling: scaling, window } = config.decoder
  if (scaling?.type !== 'dynamic' || window > scaling.originalWindow) return []
  return [
    `rope_scaling "dynamic" has no effect: it changes texts of more than ${scaling.originalWindow} tokens, and the window is ${window}; build with --window ${Math.ceil(scaling.factor * scaling.originalWindow)} to read longer ones`,
  ]
}

function graphsOf(checkpoint: Checkpoint, precision: Precision): readonly Graph[] {
  const { config } = checkpoint
  if (config.architecture === 'reranker') return [rerankerGraph(checkpoint, config, precision)]
  if (config.architecture === 'contriever') return [contrieverGraph(checkpoint, config, precision)]
  const decoder = [cepeGenerateGraph, cepeContinueGraph, cepeStepGraph].map((make) => make(checkpoint, config, precision))
  return config.encoder ? [cepeEncoderGraph(checkpoint, config, precision), ...decoder] : decoder
}

/** null for a checkpoint without a tokenizer: weights alone can be built and verified, not served. */
async function findTokenizer(checkpoint: Checkpoint): Promise<TokenizerFiles | null> {
  const { dir, config, plainPrompts } = checkpoint
  const present = await Promise.all(['tokenizer.json', 'tokenizer.model', 'vocab.txt'].map((name) => exists(join(dir, name))))
  const found = checkpoint.tokenizer?.() ?? (present.includes(true) ? await tokenizerFiles(dir) : null)
  if (found === null) return null
  const { chat_template: _, ...plain } = found.config
  return fitTokenizer(plainPrompts === true ? { ...found, config: plain } : found, config)
}

function jsonBytes(value: unknown): Buffer {
  return Buffer.from(`${JSON.stringify(value, null, 1)}\n`)
}

function writeJson(dir: string, name: string, value: unknown): Promise<WrittenFile> {
  return writeSmallFile(dir, name, jsonBytes(value))
}

/** A manifest without what differs between two builds of one checkpoint, its files apart. */
function described(manifest: ModelManifest): unknown {
  const { built_at: _, source, ...rest } = manifest
  return JSON.parse(JSON.stringify({ ...rest, revision: source.revision }))
}

/**
 * True if the present builder would make this model of the checkpoint: of the same weights, configs and tokenizer, with the same graphs.
 * @throws those of openCheckpoint and tokenizerFiles
 */
export async function isBuiltFrom(manifest: ModelManifest, checkpointDir: string): Promise<boolean> {
  const checkpoint = await openCheckpoint(checkpointDir)
  if (manifest.source.revision !== checkpoint.revision) return false
  const tokenizer = await findTokenizer(checkpoint)
  if (!isDeepStrictEqual(described(manifest), described(describeModel(checkpoint, tokenizer, manifest.dtype, manifest.files)))) return false
  const isSame = (name: string, value: unknown): boolean =>
    manifest.files.find((file) => file.name === name)?.sha256 ===
    (tokenizer ? createHash('sha256').update(jsonBytes(value)).digest('hex') : undefined)
  return isSame('tokenizer.json', tokenizer?.tokenizer) && isSame('tokenizer_config.json', tokenizer?.config)
}

/**
 * Builds a model folder from a checkpoint: graphs, one data file, tokenizer files, manifest.json. Nothing is visible at
 * outDir until all of it is written. Memory: the largest tensor, twice, and little more.
 * @throws those of openCheckpoint, withAdapters, checkTensors, checkTied, tokenizerFiles and checkRoundTrip; checkpoint_invalid when a weight is not
 * finite.
 * @example
 * ```ts
 * import { buildModel } from './models/build.ts'
 *
 * await buildModel({ checkpointDir: 'CEPE-LLaMA-2-7B', outDir: 'built/cepe-7b', dtype: 'int8+int4' })
 * ```
 */
export async function buildModel(options: BuildOptions): Promise<ModelManifest> {
  const { dtype, inPlace = false, onProgress = () => undefined, onWarning = () => undefined, signal } = options
  const adapted = await withAdapters(await openCheckpoint(options.checkpointDir), options.adapters ?? [])
  const checkpoint = withOptions(adapted, options.rope ?? {})
  const { unexpected } = checkTensors(checkpoint)
  if (unexpected.length > 0) onWarning(`${unexpected.length} tensors of the checkpoint are not used: ${listed(unexpected)}`)
  await checkTied(checkpoint)
  for (const warning of configWarnings(checkpoint.config)) onWarning(warning)
  const tokenizer = await findTokenizer(checkpoint)
  if (!tokenizer) onWarning(`${checkpoint.dir} has no tokenizer: the model can be verified, not served`)
  else if (checkpoint.config.architecture === 'cepe') {
    const unknown = checkRoundTrip(tokenizer, checkpoint.name)
    if (unknown.length > 0)
      onWarning(`the tokenizer of ${checkpoint.name} has no tokens for some ${unknown.join(', ')}: they are lost in text`)
  }
  const graphs = graphsOf(checkpoint, precisionOf(dtype, options.int4))
  return fillFolder(options.outDir, async (dir) => {
    const written = await writeGraphs(graphs, {
      dir,
      dataFile: DATA_FILE,
      producerVersion: String(BUILDER_VERSION),
      inPlace,
      onProgress,
      signal,
    })
    const tokenizers = tokenizer
      ? [await writeJson(dir, 'tokenizer.json', tokenizer.tokenizer), await writeJson(dir, 'tokenizer_config.json', tokenizer.config)]
      : []
    const manifest = describeModel(checkpoint, tokenizer, dtype, [...written, ...tokenizers])
    await writeJson(dir, MANIFEST_FILE, sealed(manifest))
    return manifest
  })
}
