import { isDeepStrictEqual } from 'node:util'
import { invalidField } from '../../../../base/errors.ts'

/** Ignored fields: they do not change the answer. */
const IGNORED = new Set([
  ...['user', 'metadata', 'store', 'service_tier', 'safety_identifier', 'prompt_cache_key', 'prompt_cache_retention'],
  ...['parallel_tool_calls', 'reasoning', 'reasoning_effort', 'verbosity'],
])

const EMPTY: readonly unknown[] = [[], {}]
const TEXT = { type: 'text' }

/** Unsupported fields, each with the values that request nothing. */
const NOTHING: ReadonlyMap<string, readonly unknown[]> = new Map([
  ['tools', EMPTY],
  ['functions', EMPTY],
  ['tool_choice', ['none', 'auto']],
  ['function_call', ['none', 'auto']],
  ['response_format', [TEXT]],
  ['text', [...EMPTY, { format: TEXT }]],
  ['truncation', ['disabled']],
  ['background', [false]],
  ['include', EMPTY],
  ['stream_options', EMPTY],
  ['modalities', [[], ['text']]],
  ['logprobs', [false]],
  ['top_logprobs', [0]],
  ['logit_bias', EMPTY],
  ['frequency_penalty', [0]],
  ['presence_penalty', [0]],
  ['repetition_penalty', [1]],
  ['repeat_penalty', [1]],
  ['min_p', [0]],
  ['ignore_eos', [false]],
])

/**
 * Rejects fields that request something unsupported; null requests nothing.
 * @param known supported fields
 * @throws invalid_request naming the field
 */
export function refuseUnread(body: object, known: object): void {
  for (const [field, value] of Object.entries(body)) {
    if (field in known || value === null || IGNORED.has(field)) continue
    if (NOTHING.get(field)?.some((nothing) => isDeepStrictEqual(nothing, value)) === true) continue
    throw invalidField(field, 'is not supported by this service: leave it out')
  }
}
