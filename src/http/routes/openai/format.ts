import { CodedError } from '../../../../base/errors.ts'
import type { AnswerResponse } from '../../../rag/schema.ts'
import { grammarOf } from '../../../text/grammar/from-schema.ts'
import type { Grammar } from '../../../text/grammar/grammar.ts'
import type { ChatRequest, ChatResponse } from './schema.ts'

/** Output options of a chat: a grammar that constrains decoding, and the number of top tokens to report. */
export interface AnswerForm {
  readonly grammar?: Grammar
  readonly logprobs?: number
}

/** @throws invalid_request naming the field, for an unsupported response format */
export function formOf({ response_format, logprobs, top_logprobs }: ChatRequest): AnswerForm {
  const grammar = formatGrammar(response_format)
  if (typeof top_logprobs === 'number' && top_logprobs > 0 && logprobs !== true)
    throw new CodedError('invalid_request', 'top_logprobs needs logprobs: true.', { field: 'top_logprobs' })
  return { ...(grammar && { grammar }), ...(logprobs === true && { logprobs: top_logprobs ?? 0 }) }
}

function formatGrammar(format: ChatRequest['response_format']): Grammar | undefined {
  if (!format || format.type === 'text') return undefined
  if (format.type !== 'json_schema')
    throw new CodedError(
      'invalid_request',
      `response_format.type is ${JSON.stringify(format.type)}, which is not supported: take json_schema, with a schema that names the fields.`,
      { field: 'response_format' },
    )
  return grammarOf(format.json_schema?.schema, 'response_format.json_schema.schema')
}

type Logprobs = ChatResponse['choices'][number]['logprobs']

/** Log-probabilities in OpenAI's format; null if not requested, or without an answer. */
export function logprobsOf({ tokens }: Pick<AnswerResponse, 'tokens'>): Logprobs {
  if (!tokens) return null
  const told = ({ text, logprob }: { readonly text: string; readonly logprob: number }) => ({
    token: text,
    logprob,
    bytes: [...new TextEncoder().encode(text)],
  })
  return { content: tokens.map(({ top, ...token }) => ({ ...told(token), top_logprobs: top.map(told) })), refusal: null }
}
