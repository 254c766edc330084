import { CodedError } from '../../../base/errors.ts'

/** Fields of OpenAI's requests that change nothing of an answer: they are taken and not used. */
const WITHOUT_EFFECT = new Set([
  'user',
  'metadata',
  'store',
  'service_tier',
  'safety_identifier',
  'prompt_cache_key',
  'prompt_cache_retention',
  'parallel_tool_calls',
])

function isEmpty(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0
}
function isOneOf(...values: readonly unknown[]): (value: unknown) => boolean {
  return (value) => values.includes(value)
}

/** Fields that this service does not do, each with the values by which nothing is asked for. */
const UNDONE: ReadonlyMap<string, (value: unknown) => boolean> = new Map([
  ['tools', isEmpty],
  ['functions', isEmpty],
  ['tool_choice', isOneOf('none', 'auto')],
  ['function_call', isOneOf('none', 'auto')],
  ['response_format', (value) => typeof value === 'object' && value !== null && 'type' in value && value.type === 'text'],
  ['modalities', (value) => Array.isArray(value) && value.every((one) => one === 'text')],
  ['logprobs', isOneOf(false)],
  ['top_logprobs', isOneOf(0)],
  ['logit_bias', isEmpty],
  ['frequency_penalty', isOneOf(0)],
  ['presence_penalty', isOneOf(0)],
])

/**
 * Refuses what a request asks for and would not get; null asks for nothing.
 * @param known fields that are read
 * @throws invalid_request naming the field
 */
export function refuseUnread(body: object, known: object): void {
  for (const [field, value] of Object.entries(body)) {
    if (field in known || value === null || WITHOUT_EFFECT.has(field)) continue
    if (UNDONE.get(field)?.(value) === true) continue
    throw new CodedError('invalid_request', `${field} is not supported by this service: leave it out.`, { field })
  }
}
