import { Type, type Static } from 'typebox'
import { orNull } from '../checkpoint/config/families/fields.ts'
import { parseAs } from '../checkpoint/config/json.ts'
import { unsupported } from '../errors.ts'

export const ADAPTER_CONFIG_FILE = 'adapter_config.json'

const Rank = Type.Integer({ minimum: 1, maximum: 65_536 })

const AdapterSchema = Type.Object({
  peft_type: Type.String(),
  r: Rank,
  lora_alpha: Type.Number(),
  use_rslora: orNull(Type.Boolean()),
  rank_pattern: orNull(Type.Record(Type.String(), Rank)),
  alpha_pattern: orNull(Type.Record(Type.String(), Type.Number())),
  use_dora: orNull(Type.Boolean()),
  bias: orNull(Type.String()),
  lora_bias: orNull(Type.Boolean()),
  fan_in_fan_out: orNull(Type.Boolean()),
  modules_to_save: orNull(Type.Array(Type.String())),
  layer_replication: orNull(Type.Array(Type.Unknown())),
  init_lora_weights: orNull(Type.Union([Type.Boolean(), Type.String()])),
})

/** Rank of a module's matrices A and B, and the scale of their product. */
export interface LoraScale {
  readonly rank: number
  readonly factor: number
}

function refuse(field: string, actual: unknown, remedy: string): never {
  throw unsupported(`${ADAPTER_CONFIG_FILE}: ${field} is ${JSON.stringify(actual)}, which is not merged; ${remedy}`, field)
}

/** Initialisations that change the base, which the adapter's folder does not contain. */
const CHANGES_BASE = /^(?:pissa|olora|corda|loftq)/

function checkKind(raw: Static<typeof AdapterSchema>): void {
  if (raw.peft_type !== 'LORA') refuse('peft_type', raw.peft_type, 'supported is "LORA": merge it with PEFT and build the merged folder')
  const merge = 'merge it with PEFT and build the merged folder'
  for (const field of ['use_dora', 'lora_bias', 'fan_in_fan_out'] as const) if (raw[field] === true) refuse(field, true, merge)
  if ((raw.bias ?? 'none') !== 'none') refuse('bias', raw.bias, merge)
  for (const field of ['modules_to_save', 'layer_replication'] as const) {
    const named = raw[field]
    if (named && named.length > 0) refuse(field, named, merge)
  }
  const begun = raw.init_lora_weights
  if (typeof begun === 'string' && CHANGES_BASE.test(begun)) refuse('init_lora_weights', begun, merge)
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
export function parseAdapterConfig(value: unknown): (module: string) => LoraScale {
  const raw = parseAs(AdapterSchema, value, ADAPTER_CONFIG_FILE)
  checkKind(raw)
  return (module) => {
    const rank = byModule('rank_pattern', raw.rank_pattern ?? {}, module) ?? raw.r
    const alpha = byModule('alpha_pattern', raw.alpha_pattern ?? {}, module) ?? raw.lora_alpha
    return { rank, factor: alpha / (raw.use_rslora === true ? Math.sqrt(rank) : rank) }
  }
}
