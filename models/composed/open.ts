import { basename, join } from 'node:path'
import { Type, type Static } from 'typebox'
import { withAdapters, withPairs } from '../adapter/merge.ts'
import type { LoraPair } from '../adapter/open.ts'
import type { Checkpoint, TensorInfo } from '../checkpoint/checkpoint.ts'
import { parseAs } from '../checkpoint/config/json.ts'
import { readQaDefaults } from '../checkpoint/config/parse.ts'
import { combinedRevision, openWeightFile, type WeightFile } from '../checkpoint/file.ts'
import { invalid, unsupported } from '../errors.ts'
import { openGguf } from '../gguf/open.ts'
import { withSmoothing } from './smoothing.ts'
import { toF32 } from '../checkpoint/weights.ts'
import { readGgufHeader, type GgufTensor } from '../gguf/header.ts'
import { ggufRevision, readGgufTensor, storedTensor } from '../gguf/tensors.ts'

/** Name of a file or folder in the checkpoint's folder, without path separators. */
const Name = Type.String({ pattern: '^[A-Za-z0-9][A-Za-z0-9._-]*$', maxLength: 200 })

/** config.json of a composed checkpoint: an unchanged published base, and parts trained over it. */
const ComposedSchema = Type.Object(
  {
    base_model: Name,
    base_revision: Type.Optional(
      Type.String({ pattern: '^[0-9a-f]{64}$', description: "The base's revision, as `cepe inspect` prints it: another base is refused." }),
    ),
    adapters: Type.Optional(
      Type.Array(Name, { maxItems: 16, description: 'Folders of LoRA adapters of the decoder, merged in this order.' }),
    ),
    smoothing: Type.Optional(
      Type.String({ ...Name, description: 'Factors of channels (safetensors) that make quantised activations more precise.' }),
    ),
    chat_template: Type.Optional(
      Type.Boolean({ description: "false: the base's chat template is left out, because the adapters expect plain prompts." }),
    ),
    cepe: Type.Optional(
      Type.Object(
        {
          file: Name,
          encoder_layers: Type.Integer({ minimum: 1, maximum: 1024 }),
          encoder_window: Type.Integer({ minimum: 1, maximum: 1 << 20 }),
          causal: Type.Optional(
            Type.Boolean({
              description: "true: the encoder keeps the decoder's causal attention. Bidirectional by default, as in the paper.",
            }),
          ),
          lora_factor: Type.Number({ description: "Of the encoder's adapters: alpha / rank." }),
        },
        {
          additionalProperties: false,
          description:
            "The encoder is the decoder's lower layers with adapters; cross-attention and the encoder's last norm are stored in full.",
        },
      ),
    ),
  },
  { additionalProperties: false },
)
type ComposedConfig = Static<typeof ComposedSchema>
type CepeParts = NonNullable<ComposedConfig['cepe']>

const LORA = /^encoder\.(.+)\.lora_[ab]$/

/** Adapters by the weight that they change, stored as A [rank,in] and the transpose of B, [rank,out]: quantised blocks then fit any rank. */
function pairsOf(file: WeightFile, stored: ReadonlyMap<string, GgufTensor>, factor: number): Map<string, LoraPair> {
  const modules = new Set([...stored.keys()].flatMap((name) => LORA.exec(name)?.[1] ?? []))
  const pairOf = (module: string): LoraPair => {
    const [a, b] = [stored.get(`encoder.${module}.lora_a`), stored.get(`encoder.${module}.lora_b`)]
    const [[rank = 0, ins = 0] = [], [other, outs = 0] = []] = [a?.shape, b?.shape]
    if (a?.shape.length !== 2 || b?.shape.length !== 2 || rank !== other)
      throw invalid(`${basename(file.path)}: lora_a and lora_b of encoder.${module} must be two matrices of as many rows`, module)
    const valuesOf = async (tensor: GgufTensor): Promise<Float32Array> => toF32(tensor.name, await readGgufTensor(file, tensor))
    return { factor, rank, ins, outs, read: async () => ({ a: await valuesOf(a), b: transposed(await valuesOf(b), rank) }) }
  }
  return new Map([...modules].map((module) => [`encoder.${module}.weight`, pairOf(module)]))
}

function transposed(matrix: Float32Array, rows: number): Float32Array {
  const columns = matrix.length / rows
  const turned = new Float32Array(matrix.length)
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) turned[column * rows + row] = matrix[row * columns + column] as number
  }
  return turned
}

/** Of a decoder, the tensors that its lower layers have in common with the encoder, by their names there. */
function derivedTensors({ tensors }: Checkpoint, layers: number): [string, TensorInfo][] {
  const inLayer = (name: string): boolean => Number(/^model\.layers\.(\d+)\./.exec(name)?.[1] ?? Infinity) < layers
  const kept = [...tensors].filter(([name]) => name === 'model.embed_tokens.weight' || inLayer(name))
  return kept.map(([name, info]) => [name.replace(/^model\./, 'encoder.'), info])
}

/**
 * Combines the decoder with an encoder derived from its lower layers and with cross-attention in every layer. `parts.file` (GGUF) contains
 * `encoder.layers.N.<matrix>.lora_a` and `lora_b` (the weight is the decoder's plus lora_factor B A), `encoder.norm.weight`, and
 * `model.layers.N.cross_attn.*` in Hugging Face's row order. The embedding is shared.
 * @throws checkpoint_invalid naming a missing tensor, or one that fits no layer
 */
async function withCepe(decoder: Checkpoint, dir: string, parts: CepeParts): Promise<Checkpoint> {
  const { config } = decoder
  if (config.architecture !== 'cepe' || config.encoder !== null) throw invalid('the base must be a decoder alone', 'base_model')
  if (config.decoder.postNorms)
    throw unsupported('the base is a Gemma, whose layers make no encoder here; take a LLaMA or Qwen', 'base_model')
  if (parts.encoder_layers > config.decoder.layers)
    throw invalid(`config.json: encoder_layers is ${parts.encoder_layers}, the base has ${config.decoder.layers}`, 'encoder_layers')
  const file = await openWeightFile(join(dir, parts.file))
  const header = await readGgufHeader(file)
  const stored = new Map(header.tensors.map((tensor) => [tensor.name, tensor]))
  const whole = header.tensors.filter(({ name }) => !LORA.test(name))
  const doubled: Checkpoint = {
    ...decoder,
    config: {
      ...config,
      crossAttentionLayers: config.decoder.layers,
      encoder: { ...config.decoder, layers: parts.encoder_layers, window: parts.encoder_window, tieWordEmbeddings: true },
      causalEncoder: parts.causal ?? false,
    },
    tensors: new Map([
      ...decoder.tensors,
      // A tensor without an adapter keeps its source's name, so that graphs share its bytes.
      ...derivedTensors(decoder, parts.encoder_layers),
      ...whole.map((tensor) => [tensor.name, storedTensor(tensor, tensor.name, file.path)] as const),
    ]),
    revision: combinedRevision(decoder.revision, await ggufRevision(file, header)),
    read: (name) => {
      const own = stored.get(name)
      return own ? readGgufTensor(file, own) : decoder.read(decoder.tensors.has(name) ? name : name.replace(/^encoder\./, 'model.'))
    },
  }
  return withPairs(doubled, { name: basename(file.path), pairs: pairsOf(file, stored, parts.lora_factor) })
}

async function openBase(dir: string, { base_model: file, base_revision: revision }: ComposedConfig): Promise<Checkpoint> {
  if (!/\.gguf$/i.test(file)) throw invalid(`config.json: base_model is ${file}; it must be a GGUF file in the same folder`, 'base_model')
  const base = await openGguf(join(dir, file))
  if (revision === undefined || revision === base.revision) return base
  const message = `${file} has the revision ${base.revision}, config.json requires ${revision}: the adapters belong to another base; put that base into ${dir}`
  throw invalid(message, 'base_revision')
}

/**
 * Opens a folder whose config.json names a base (GGUF) and parts trained over it: LoRA adapters of the decoder and, for CEPE, the encoder's
 * adapters and the cross-attention; and factors that smooth its channels. Tensors are composed on read, one at a time.
 * @throws checkpoint_invalid if a part is missing, damaged or of another base; those of openGguf and openAdapter
 */
export async function openComposed(dir: string, configValue: unknown): Promise<Checkpoint> {
  const composed = parseAs(ComposedSchema, configValue, 'config.json')
  const { qaConfig, qaDefaults } = await readQaDefaults(dir)
  const base = await openBase(dir, composed)
  const adapters = (composed.adapters ?? []).map((name) => join(dir, name))
  const decoder = await withAdapters(base, adapters)
  const whole = composed.cepe === undefined ? decoder : await withCepe(decoder, dir, composed.cepe)
  const checkpoint = composed.smoothing === undefined ? whole : await withSmoothing(whole, join(dir, composed.smoothing))
  const configs = JSON.stringify([configValue, qaConfig ?? null])
  return {
    ...checkpoint,
    dir,
    name: basename(dir),
    qaDefaults: qaDefaults ?? checkpoint.qaDefaults,
    ...(composed.chat_template === false && { plainPrompts: true }),
    revision: combinedRevision(checkpoint.revision, configs),
  }
}
