import { createHash } from 'node:crypto'
import { readdir, stat } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { invalid } from './errors.ts'
import { openComposed } from './composed/open.ts'
import { openGguf } from './gguf/open.ts'
import { readGgufIndex } from './gguf/tensors.ts'
import type { ModelConfig } from './checkpoint/config/config.ts'
import { parseConfig, readQaDefaults } from './checkpoint/config/parse.ts'
import { hashEnds, type WeightFile, openWeightFile } from './checkpoint/file.ts'
import { parseAs, readJson } from './checkpoint/config/json.ts'
import { canonicalName } from './checkpoint/rename.ts'
import { readEmbeddingStyle } from './checkpoint/config/sentence-transformers.ts'
import { type WeightIndex, readSafetensorsIndex } from './checkpoint/safetensors.ts'
import { readTorchIndex } from './checkpoint/torch.ts'
import type { Checkpoint, TensorInfo } from './checkpoint/checkpoint.ts'
import { readTensor, withWholeNorms } from './checkpoint/weights.ts'
import { Type } from 'typebox'
import { TokenId, checkedId, orNull } from './checkpoint/config/families/fields.ts'

const FILE = 'generation_config.json'
const GenerationSchema = Type.Object({ eos_token_id: orNull(Type.Union([TokenId, Type.Array(TokenId)])) })

/**
 * A decoder's config with the tokens that end a text as generation_config.json has them, where the folder has that file and the file
 * names any: they take the place of config.json's, as in transformers. Chat models end a turn with one that only this file names.
 * @throws checkpoint_invalid naming the file and field
 */
async function withGenerationStops(dir: string, config: ModelConfig): Promise<ModelConfig> {
  if (config.architecture !== 'cepe') return config
  const value = await readJson(join(dir, FILE))
  if (value === undefined) return config
  const { eos_token_id: eos } = parseAs(GenerationSchema, value, FILE)
  const named = [eos ?? []].flat()
  if (named.length === 0) return config
  const { vocabSize } = config.decoder
  const eosIds = [...new Set(named)].map((id) => checkedId('eos_token_id', id, vocabSize, FILE))
  return { ...config, tokens: { ...config.tokens, eosIds } }
}

/** In order of preference: safetensors, single file first. */
const LAYOUTS: readonly { readonly format: Checkpoint['format']; readonly single: string; readonly index?: string }[] = [
  { format: 'safetensors', single: 'model.safetensors', index: 'model.safetensors.index.json' },
  { format: 'torch', single: 'pytorch_model.bin', index: 'pytorch_model.bin.index.json' },
  { format: 'gguf', single: 'model.gguf' },
]

const IndexSchema = Type.Object({ weight_map: Type.Record(Type.String(), Type.String({ minLength: 1 })) })

/**
 * Finds the weight files of a checkpoint folder; with an index, also the file of each tensor.
 * @throws checkpoint_invalid if there are none, or the index is broken or names a missing file
 */
async function findShards(dir: string) {
  const present = new Set(await readdir(dir))
  for (const { format, single, index } of LAYOUTS) {
    if (present.has(single)) return { format, files: [single], index: null }
    if (index === undefined || !present.has(index)) continue
    const { weight_map: fileOf } = parseAs(IndexSchema, await readJson(join(dir, index)), index)
    const files = [...new Set(Object.values(fileOf))]
    if (files.length === 0) throw invalid(`${index}: weight_map is empty`, index)
    const path = files.find((file) => /[/\\\0]/.test(file) || file === '..' || file === '.')
    if (path !== undefined)
      throw invalid(`${index}: shard ${JSON.stringify(path)} is not a plain file name; shards must be in the folder of the index`, index)
    const missing = files.filter((file) => !present.has(file))
    if (missing.length > 0) throw invalid(`${index} names ${missing.join(', ')}, missing from ${dir}; download the missing shards`, index)
    return { format, files, index: { name: index, fileOf } }
  }
  const message = `${dir} holds no weights; expected one of ${LAYOUTS.flatMap(({ single, index = [] }) => [single, index].flat()).join(', ')}`
  throw invalid(message, dir)
}

interface Shard {
  readonly file: WeightFile
  readonly index: WeightIndex
}

async function openShards(
  dir: string,
  { format, files, index: listed }: Awaited<ReturnType<typeof findShards>>,
): Promise<readonly Shard[]> {
  const readIndex = { safetensors: readSafetensorsIndex, torch: readTorchIndex, gguf: readGgufIndex }[format]
  const shards: Shard[] = []
  for (const name of files) {
    const file = await openWeightFile(join(dir, name))
    shards.push({ file, index: await readIndex(file) })
  }
  if (listed === null) return shards
  const held = new Map(shards.map(({ file, index }) => [basename(file.path), new Set(index.tensors.map(({ name }) => name))]))
  for (const [tensor, shard] of Object.entries(listed.fileOf)) {
    if (held.get(shard)?.has(tensor) !== true)
      throw invalid(`${listed.name} places tensor ${tensor} in ${shard}, which does not hold it`, tensor)
  }
  return shards
}

function collectTensors(architecture: ModelConfig['architecture'], shards: readonly Shard[]): ReadonlyMap<string, TensorInfo> {
  const tensors = new Map<string, TensorInfo>()
  for (const stored of shards.flatMap(({ index }) => index.tensors)) {
    const name = canonicalName(architecture, stored.name)
    const other = tensors.get(name)
    if (other !== undefined) throw invalid(`tensor ${name} is stored twice, in ${basename(other.file)} and ${basename(stored.file)}`, name)
    tensors.set(name, { ...stored, name })
  }
  return tensors
}

async function revisionOf(configValue: unknown, shards: readonly Shard[]): Promise<string> {
  const hash = createHash('sha256').update(JSON.stringify(configValue))
  for (const { file, index } of shards) {
    hash.update(JSON.stringify([basename(file.path), file.size])).update(index.header)
    await hashEnds(hash, file, index.tensors)
  }
  return hash.digest('hex')
}

/**
 * Opens a GGUF file (gguf/open.ts), a composed checkpoint (composed/open.ts) or a Hugging Face checkpoint folder: config.json,
 * weights as safetensors, torch .bin (single or sharded; safetensors when both are there) or model.gguf, qa_config.json and
 * generation_config.json if present.
 * Reads headers only.
 * Does not compare the tensors with the architecture; checkTensors does.
 * @throws checkpoint_invalid and unsupported, naming the file, field or tensor
 * @example
 * ```ts
 * import { openCheckpoint } from './models/open-checkpoint.ts'
 *
 * const checkpoint = await openCheckpoint('CEPE-LLaMA-2-7B')
 * const { dtype, data } = await checkpoint.read('lm_head.weight')
 * ```
 */
export async function openCheckpoint(folder: string): Promise<Checkpoint> {
  const dir = resolve(folder)
  const info = await stat(dir).catch(() => undefined)
  if (info?.isFile()) return openGguf(dir)
  if (!info?.isDirectory()) throw invalid(`${dir} is no folder; give the path of a downloaded Hugging Face model, or of a .gguf file`, dir)
  const configValue = await readJson(join(dir, 'config.json'))
  if (configValue === undefined) throw invalid(`${dir} has no config.json`, 'config.json')
  if (typeof configValue === 'object' && configValue !== null && 'base_model' in configValue) return openComposed(dir, configValue)
  const parsed = parseConfig(configValue)
  const config = await withGenerationStops(dir, parsed)
  const { qaConfig, qaDefaults } = await readQaDefaults(dir)
  const embedding = config.architecture === 'contriever' ? await readEmbeddingStyle(dir) : undefined
  const plan = await findShards(dir)
  const shards = await openShards(dir, plan)
  const tensors = collectTensors(config.architecture, shards)
  const files = new Map(shards.map((shard) => [shard.file.path, shard]))
  // Part of the id where they are not config.json's: they are part of the answers.
  const stops = isDeepStrictEqual(config, parsed) || config.architecture !== 'cepe' ? undefined : config.tokens.eosIds
  const settings = [qaConfig, embedding, stops].filter((value) => value !== undefined)
  const revision = await revisionOf(settings.length === 0 ? configValue : [configValue, ...settings], shards)
  return withWholeNorms({
    dir,
    name: basename(dir),
    format: plan.format,
    config,
    qaDefaults,
    embedding,
    tensors,
    revision,
    read: async (name) => {
      const tensor = tensors.get(name)
      const shard = tensor && files.get(tensor.file)
      if (tensor === undefined || shard === undefined) throw invalid(`the checkpoint ${dir} has no tensor ${name}`, name)
      return shard.index.read ? shard.index.read(tensor) : readTensor(shard.file, tensor)
    },
  })
}
