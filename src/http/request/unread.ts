import type { FastifyReply } from 'fastify'
import { type TSchema, Type } from 'typebox'
import { Value } from 'typebox/value'
import { invalidField } from '../../../base/errors.ts'
import { isObject } from '../../../base/json.ts'

const namesIn = (text: string): ReadonlySet<string> => new Set(text.split(' '))

/** Ignored fields of a request: they do not change the answer. */
const IGNORED = namesIn(
  'user metadata store service_tier safety_identifier prompt_cache_key prompt_cache_retention parallel_tool_calls reasoning reasoning_effort verbosity',
)
/** Fields of a request with messages. */
const MESSAGES = namesIn('messages input')
/** Ignored fields of messages and their parts, which clients send back as they came, or keep for themselves. */
const IN_MESSAGES = namesIn(
  'type name id status phase refusal annotations logprobs reasoning reasoning_content reasoning_details cache_control metadata options',
)

const Empty = Type.Union([Type.Array(Type.Unknown(), { maxItems: 0 }), Type.Object({}, { maxProperties: 0 })])
const Text = Type.Object({ type: Type.Literal('text') }, { additionalProperties: false })
const Off = Type.Literal(false)
const Blank = Type.Union([Empty, Off, Type.Literal('')])
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
  ['include_obfuscation', Off],
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

/** Most paths in the header: proxies refuse responses with headers of more than 4 KB. */
const MOST_NAMED = 50

/** Names the fields of a request without effect in a header of its response. */
export function setIgnoredHeader(reply: FastifyReply, paths: readonly string[]): void {
  const named = [...paths.slice(0, MOST_NAMED), ...(paths.length > MOST_NAMED ? ['...'] : [])]
  if (named.length > 0) void reply.header('x-cepe-ignored', named.join(', '))
}

/**
 * Paths of the ignored fields that a value has besides those of its schema, at any depth. Empty ones, null and false request nothing.
 * @throws invalid_request naming a field that requests what is unsupported
 */
export function unread(value: unknown, schema: TSchema, path: readonly string[] = []): string[] {
  const alternatives = Type.IsUnion(schema) ? schema.anyOf : [schema]
  const items = alternatives.find((one) => Type.IsArray(one))?.items
  if (Array.isArray(value)) return items === undefined ? [] : value.flatMap((one, i) => unread(one, items, [...path, String(i)]))
  const object = alternatives.find((one) => Type.IsObject(one))
  // A closed object has no other fields.
  if (!isObject(value) || object === undefined || 'additionalProperties' in object) return []
  const [top = ''] = path
  const ignored = MESSAGES.has(top) ? IN_MESSAGES : IGNORED
  return Object.entries(value).flatMap(([field, given]) => {
    const own = [...path, field]
    const known = Object.hasOwn(object.properties, field) ? object.properties[field] : undefined
    if (known !== undefined) return unread(given, known, own)
    const nothing = NOTHING.get(field)
    if (given === null || (nothing !== undefined && Value.Check(nothing, given))) return []
    if (ignored.has(field)) return Value.Check(Blank, given) ? [] : [own.join('.')]
    throw invalidField(own.join('.'), 'is not supported by this service: leave it out')
  })
}
