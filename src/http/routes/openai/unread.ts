import { invalidField } from '../../../../base/errors.ts'

/** Ignored fields: they do not change the answer. */
const IGNORED = new Set([
  'user',
  'metadata',
  'store',
  'service_tier',
  'safety_identifier',
  'prompt_cache_key',
  'prompt_cache_retention',
  'parallel_tool_calls',
  'reasoning',
  'reasoning_effort',
  'verbosity',
])

function isEmpty(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0
}
function isOneOf(...values: readonly unknown[]): (value: unknown) => boolean {
  return (value) => values.includes(value)
}

function isText(format: unknown): boolean {
  return typeof format === 'object' && format !== null && 'type' in format && format.type === 'text'
}
/** True if the `text` field of `POST /v1/responses` requests plain text. */
function isTextFormat(text: unknown): boolean {
  return (
    isEmpty(text) ||
    (typeof text === 'object' && text !== null && Object.keys(text).length === 1 && 'format' in text && isText(text.format))
  )
}

/** Unsupported fields, each with a check for values that request nothing. */
const UNSUPPORTED: ReadonlyMap<string, (value: unknown) => boolean> = new Map([
  ['tools', isEmpty],
  ['functions', isEmpty],
  ['tool_choice', isOneOf('none', 'auto')],
  ['function_call', isOneOf('none', 'auto')],
  ['response_format', isText],
  ['text', isTextFormat],
  ['truncation', isOneOf('disabled')],
  ['background', isOneOf(false)],
  ['include', isEmpty],
  ['stream_options', isEmpty],
  ['modalities', (value) => Array.isArray(value) && value.every((one) => one === 'text')],
  ['logprobs', isOneOf(false)],
  ['top_logprobs', isOneOf(0)],
  ['logit_bias', isEmpty],
  ['frequency_penalty', isOneOf(0)],
  ['presence_penalty', isOneOf(0)],
  ['repetition_penalty', isOneOf(1)],
  ['repeat_penalty', isOneOf(1)],
  ['min_p', isOneOf(0)],
  ['ignore_eos', isOneOf(false)],
])

/**
 * Rejects fields that request something unsupported; null requests nothing.
 * @param known supported fields
 * @throws invalid_request naming the field
 */
export function refuseUnread(body: object, known: object): void {
  for (const [field, value] of Object.entries(body)) {
    if (field in known || value === null || IGNORED.has(field)) continue
    if (UNSUPPORTED.get(field)?.(value) === true) continue
    throw invalidField(field, 'is not supported by this service: leave it out')
  }
}
