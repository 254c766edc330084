import { type TSchema, Type } from 'typebox'
import { Value } from 'typebox/value'
import { invalidField } from '../../../../base/errors.ts'

const namesIn = (text: string): ReadonlySet<string> => new Set(text.split(' '))

/** Ignored fields of a request: they do not change the answer. */
const IGNORED = namesIn(
  'user metadata store service_tier safety_identifier prompt_cache_key prompt_cache_retention parallel_tool_calls reasoning reasoning_effort verbosity',
)
/** Ignored fields of messages and their parts, which clients send back as they came, or keep for themselves. */
const IN_MESSAGES = namesIn(
  'name id status phase refusal annotations logprobs reasoning reasoning_content reasoning_details cache_control metadata options',
)

const Empty = Type.Union([Type.Array(Type.Unknown(), { maxItems: 0 }), Type.Object({}, { maxProperties: 0 })])
const Text = Type.Object({ type: Type.Literal('text') })
const Off = Type.Literal(false)
const Zero = Type.Literal(0)
const One = Type.Literal(1)
const NoneOrAuto = Type.Enum(['none', 'auto'])

/** Unsupported fields, each with the values that request nothing. */
const NOTHING: ReadonlyMap<string, TSchema> = new Map<string, TSchema>([
  ['tools', Empty],
  ['functions', Empty],
  ['tool_calls', Empty],
  ['tool_choice', NoneOrAuto],
  ['function_call', NoneOrAuto],
  ['response_format', Text],
  ['truncation', Type.Enum(['auto', 'disabled'])],
  ['background', Off],
  ['include', Empty],
  ['stream_options', Type.Object({ include_obfuscation: Type.Optional(Off) }, { additionalProperties: false })],
  ['modalities', Type.Array(Type.Literal('text'))],
  ['logprobs', Off],
  ['top_logprobs', Zero],
  ['logit_bias', Empty],
  ['frequency_penalty', Zero],
  ['presence_penalty', Zero],
  ['repetition_penalty', One],
  ['repeat_penalty', One],
  ['min_p', Zero],
  ['ignore_eos', Off],
])

/**
 * Rejects fields that request what is unsupported; null does not. @param known supported fields
 * @param path of a message or part; empty for the request @throws invalid_request naming the field
 */
export function refuseUnread(body: object, known: object, path = ''): void {
  const ignored = path === '' ? IGNORED : IN_MESSAGES
  for (const [field, value] of Object.entries(body)) {
    if (field in known || value === null || ignored.has(field)) continue
    const nothing = NOTHING.get(field)
    if (nothing !== undefined && Value.Check(nothing, value)) continue
    throw invalidField(`${path}${field}`, 'is not supported by this service: leave it out')
  }
}
