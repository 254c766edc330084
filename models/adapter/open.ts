import { createHash } from 'node:crypto'
import { stat } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import { sha256OfFile } from '../../base/files.ts'
import type { TensorInfo } from '../checkpoint/checkpoint.ts'
import { openWeightFile, type WeightFile } from '../checkpoint/file.ts'
import { readJson, parseAs } from '../checkpoint/config/json.ts'
import { readQaDefaults } from '../checkpoint/config/parse.ts'
import { readSafetensorsIndex } from '../checkpoint/safetensors.ts'
import { readTensor, toF32 } from '../checkpoint/weights.ts'
import { invalid, unsupported } from '../errors.ts'
import { Type } from 'typebox'
import { orNull } from '../checkpoint/config/families/fields.ts'

const ADAPTER_CONFIG_FILE = 'adapter_config.json'

const Rank = Type.Integer({ minimum: 1, maximum: 65_536 })

const AdapterSchema = Type.Object({
  peft_type: Type.String(),
  r: Rank,
  lora_alpha: Type.Number(),
  use_rslora: orNull(Type.Boolean()),
  rank_pattern: orNull(Type.Record(Type.String(), Rank)),
  alpha_pattern: orNull(Type.Record(Type.String(), Type.Number())),
})

/** Rank of a module's matrices A and B, and the scale of their product. */
interface LoraScale {
  readonly rank: number
  readonly factor: number
}

function refuse(field: string, actual: unknown, remedy: string): never {
  throw unsupported(`${ADAPTER_CONFIG_FILE}: ${field} is ${JSON.stringify(actual)}, which is not merged; ${remedy}`, field)
}

/** Values that are merged, by field. Other initialisations change the base, and the adapter's folder does not contain the changed one. */
const MERGED: ReadonlyMap<string, readonly unknown[]> = new Map<string, readonly unknown[]>([
  ['peft_type', ['LORA']],
  ['bias', ['none', null]],
  ['init_lora_weights', [true, false, null, 'gaussian', 'eva', 'orthogonal']],
])
/** Fields that make more of an adapter than two factors of a matrix; of the variants only rank-stabilised scaling is computed. */
const FURTHER = /^(?:use_(?!rslora$)|(?:lora_bias|fan_in_fan_out|modules_to_save|layer_replication|alora_invocation_tokens)$)/

/** @throws unsupported naming a field whose value is not merged */
function checkKind(settings: object): void {
  for (const [field, value] of Object.entries(settings) as [string, unknown][]) {
    const merged = MERGED.get(field) ?? (FURTHER.test(field) ? [null, false] : [value])
    const isEmpty = Array.isArray(value) && value.length === 0
    if (!isEmpty && !merged.includes(value)) refuse(field, value, 'merge it with PEFT and build the merged folder')
  }
}

/** The value of the first key that equals the module's name or a suffix of it, as in PEFT; keys are names, not patterns. */
function byModule(field: string, pattern: Readonly<Record<string, number>>, module: string): number | undefined {
  for (const [key, value] of Object.entries(pattern)) {
    if (!/^[\w.]+$/.test(key)) refuse(field, key, 'name the modules one by one')
    if (module === key || module.endsWith(`.${key}`)) return value
  }
  return undefined
}

/**
 * Parses a PEFT adapter_config.json.
 * @returns rank and scale of a module, by its name in the base, such as `model.layers.0.self_attn.q_proj`
 * @throws checkpoint_invalid for a missing or wrong field; unsupported for anything but plain LoRA, naming the field
 */
function parseAdapterConfig(value: unknown): (module: string) => LoraScale {
  const raw = parseAs(AdapterSchema, value, ADAPTER_CONFIG_FILE)
  checkKind(raw)
  return (module) => {
    const rank = byModule('rank_pattern', raw.rank_pattern ?? {}, module) ?? raw.r
    const alpha = byModule('alpha_pattern', raw.alpha_pattern ?? {}, module) ?? raw.lora_alpha
    return { rank, factor: alpha / (raw.use_rslora === true ? Math.sqrt(rank) : rank) }
  }
}

const WEIGHTS_FILE = 'adapter_model.safetensors'

/** `base_model.model.` is PEFT's wrapper, `.default` the adapter's name if it was saved from a model with several. */
const STORED = /^base_model\.model\.(.+)\.lora_([AB])(?:\.\w+)?\.weight$/

type Halves = Readonly<Partial<Record<'A' | 'B', TensorInfo>>>

function halvesByModule(tensors: readonly TensorInfo[]): ReadonlyMap<string, Halves> {
  const modules = new Map<string, Halves>()
  for (const tensor of tensors) {
    const [, module, part] = STORED.exec(tensor.name) ?? []
    if (module === undefined)
      throw unsupported(
        `${WEIGHTS_FILE}: tensor ${tensor.name} is neither lora_A nor lora_B of a matrix; merge the adapter with PEFT and build the merged folder`,
        tensor.name,
      )
    const known = modules.get(module) ?? {}
    const half = part === 'A' ? 'A' : 'B'
    if (known[half]) throw invalid(`${WEIGHTS_FILE}: ${module} has lora_${half} twice`, tensor.name)
    modules.set(module, { ...known, [half]: tensor })
  }
  if (modules.size === 0) throw invalid(`${WEIGHTS_FILE} holds no tensors; save the adapter again`, WEIGHTS_FILE)
  return modules
}

/** The update of one matrix [out,in]: scale B A. */
function pairOf(file: WeightFile, module: string, { A, B }: Halves, { rank, factor }: LoraScale) {
  if (A === undefined || B === undefined)
    throw invalid(`${WEIGHTS_FILE}: ${module} has no lora_${A ? 'B' : 'A'}; save the adapter again`, module)
  const [[ranksA = 0, ins = 0], [outs = 0, ranksB = 0]] = [A.shape, B.shape]
  const message = `${WEIGHTS_FILE}: ${module} has lora_A [${A.shape.join(', ')}] and lora_B [${B.shape.join(', ')}], ${ADAPTER_CONFIG_FILE} says rank ${rank}; the files do not belong together: save the adapter again`
  if (A.shape.length !== 2 || B.shape.length !== 2 || ranksA !== rank || ranksB !== rank) throw invalid(message, module)
  const read = async (tensor: TensorInfo): Promise<Float32Array> => toF32(tensor.name, await readTensor(file, tensor))
  /** A [rank,in] and B [out,rank]; each call reads them again. */
  const readBoth = async () => ({ a: await read(A), b: await read(B) })
  return { factor, rank, ins, outs, read: readBoth }
}
export type LoraPair = ReturnType<typeof pairOf>

/**
 * Opens a LoRA adapter in PEFT's layout: adapter_config.json and adapter_model.safetensors. Reads headers only.
 * @throws checkpoint_invalid for files that are missing, damaged or contradict each other; unsupported for anything but plain LoRA
 */
export async function openAdapter(folder: string) {
  const dir = resolve(folder)
  if ((await stat(dir).catch(() => undefined))?.isDirectory() !== true)
    throw invalid(`${dir} is no folder; give the folder of an adapter that PEFT saved`, dir)
  const configValue = await readJson(join(dir, ADAPTER_CONFIG_FILE))
  if (configValue === undefined)
    throw invalid(`${dir} has no ${ADAPTER_CONFIG_FILE}; give the folder of an adapter that PEFT saved`, ADAPTER_CONFIG_FILE)
  const scaleOf = parseAdapterConfig(configValue)
  const { qaConfig, qaDefaults } = await readQaDefaults(dir)
  const file = await openWeightFile(join(dir, WEIGHTS_FILE))
  const { tensors } = await readSafetensorsIndex(file)
  const modules = halvesByModule(tensors)
  return {
    name: basename(dir),
    /** By the base's tensor name, such as `model.layers.0.self_attn.q_proj.weight`. */
    pairs: new Map([...modules].map(([module, halves]) => [`${module}.weight`, pairOf(file, module, halves, scaleOf(module))])),
    /** The protocol that it was trained on, if its folder has qa_config.json: plain prompts, without chat template. */
    qaDefaults,
    revision: createHash('sha256')
      .update(JSON.stringify(configValue) + (qaConfig === undefined ? '' : JSON.stringify(qaConfig)))
      .update(await sha256OfFile(file.path))
      .digest('hex'),
  }
}
export type Adapter = Awaited<ReturnType<typeof openAdapter>>
