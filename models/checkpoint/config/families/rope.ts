import { Type, type Static } from 'typebox'
import { invalid } from '../../../errors.ts'
import type { RopeScaling } from '../config.ts'
import { Count, only, orNull, Positive, requirePlain, type Prefix } from './fields.ts'

export const RopeSchema = Type.Object({
  type: Type.Optional(Type.String()),
  rope_type: Type.Optional(Type.String()),
  rope_theta: Type.Optional(Positive),
  factor: Type.Optional(Type.Number({ minimum: 1 })),
  original_max_position_embeddings: orNull(Count),
  attention_factor: orNull(Positive),
  beta_fast: orNull(Positive),
  beta_slow: orNull(Positive),
  low_freq_factor: orNull(Positive),
  high_freq_factor: orNull(Positive),
})

type RawRope = Static<typeof RopeSchema>

/** A rotation of all channels that is not scaled. */
export const PLAIN_ROPE = { type: 'default', rope_type: 'default', partial_rotary_factor: 1 }

/** Implementations disagree on defaults of these fields, so none is assumed. */
function parseLlama3Rope(rope: RawRope, factor: number, field: string): RopeScaling {
  const given = (name: 'original_max_position_embeddings' | 'low_freq_factor' | 'high_freq_factor'): number => {
    const value = rope[name]
    if (typeof value !== 'number') throw invalid(`config.json: ${field}.${name} is missing`, `${field}.${name}`)
    return value
  }
  const [lowTurns, highTurns] = [given('low_freq_factor'), given('high_freq_factor')]
  const message = `config.json: ${field}.low_freq_factor (${lowTurns}) must be below high_freq_factor (${highTurns})`
  if (!(lowTurns < highTurns)) throw invalid(message, `${field}.low_freq_factor`)
  return { type: 'llama3', factor, originalWindow: given('original_max_position_embeddings'), lowTurns, highTurns }
}

/** Config fields that the rotary embedding depends on. */
interface RawRotary {
  readonly max_position_embeddings: number
  readonly rope_theta?: number
  readonly rope_scaling?: RawRope | null
  readonly rope_parameters?: RawRope | null
}

/** The base of the rotation, and its scaling if any. @throws checkpoint_invalid and unsupported naming the field */
export function parseRope(raw: RawRotary, prefix: Prefix): { readonly ropeTheta: number; readonly ropeScaling: RopeScaling | null } {
  const rope = raw.rope_scaling ?? raw.rope_parameters ?? {}
  const field = `${prefix}${raw.rope_scaling ? 'rope_scaling' : 'rope_parameters'}`
  const ropeTheta = raw.rope_theta ?? rope.rope_theta ?? 10_000
  const unequal = `config.json: ${prefix}rope_theta is ${ropeTheta}, ${field}.rope_theta ${rope.rope_theta}; they must be equal`
  if ((rope.rope_theta ?? ropeTheta) !== ropeTheta) throw invalid(unequal, `${prefix}rope_theta`)
  const { partial_rotary_factor } = PLAIN_ROPE
  requirePlain(rope, { partial_rotary_factor }, `${field}.`)
  return { ropeTheta, ropeScaling: scalingOf(rope, field, raw.max_position_embeddings, prefix) }
}

function scalingOf(rope: RawRope, field: string, window: number, prefix: Prefix): RopeScaling | null {
  const type = rope.rope_type ?? rope.type ?? 'default'
  if (type === 'default') return null
  // Its basis depends on the text's length; the encoder's passages never exceed the training window.
  const dynamic = type === 'dynamic' && prefix === ''
  if (type !== 'linear' && type !== 'yarn' && type !== 'llama3' && !dynamic)
    return only(`${field}.type`, type, prefix === '' ? '"linear", "yarn", "llama3" or "dynamic"' : '"linear", "yarn" or "llama3"')
  const { factor } = rope
  if (factor === undefined) throw invalid(`config.json: ${field}.factor is missing`, `${field}.factor`)
  if (type === 'linear') return { type, factor }
  if (type === 'dynamic') return { type, factor, originalWindow: window }
  if (type === 'llama3') return parseLlama3Rope(rope, factor, field)
  requirePlain(rope, { mscale: null, mscale_all_dim: null, truncate: true }, `${field}.`)
  return yarn(factor, rope.original_max_position_embeddings ?? window, rope)
}

/** YaRN, by default with its authors' attention factor and ramp. */
export function yarn(factor: number, originalWindow: number, rope: Pick<RawRope, 'attention_factor' | 'beta_fast' | 'beta_slow'> = {}) {
  const { attention_factor: attention, beta_fast: fast, beta_slow: slow } = rope
  const attentionFactor = attention ?? 0.1 * Math.log(factor) + 1
  return { type: 'yarn' as const, factor, originalWindow, attentionFactor, betaFast: fast ?? 32, betaSlow: slow ?? 1 }
}
