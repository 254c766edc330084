import { CodedError } from '../../../base/errors.ts'
import type { AnswerResponse } from '../../rag/schema.ts'
import { grammarOf } from '../../text/grammar/from-schema.ts'
import type { Grammar } from '../../text/grammar/grammar.ts'
import type { ChatRequest, ChatResponse } from './openai-schema.ts'

/** What a chat asks of its answer's form: a grammar that it is held to, and how many of the likeliest tokens are told. */
export interface AnswerForm {
  readonly grammar?: Grammar
  readonly logprobs?: number
}

/** @throws invalid_request naming the field, for a form that decoding is not held to */
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

/** The answer's tokens as OpenAI's clients read them; null where they were not asked for, or there is no answer. */
export function logprobsOf({ tokens }: Pick<AnswerResponse, 'tokens'>): Logprobs {
  if (!tokens) return null
  const told = ({ text, logprob }: { readonly text: string; readonly logprob: number }) => ({
    token: text,
    logprob,
    bytes: [...new TextEncoder().encode(text)],
  })
  return { content: tokens.map(({ top, ...token }) => ({ ...told(token), top_logprobs: top.map(told) })), refusal: null }
}
