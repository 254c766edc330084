import { CodedError } from '../../../../base/errors.ts'
import type { AnswerResponse, ChatQuestion } from '../../../rag/schema.ts'
import type { ChatTemplate } from '../../../text/chat-template.ts'
import { refusalOf } from '../../../rag/no-answer/words.ts'
import { extensionOf, textOf, type Named } from './chat.ts'
import { citationsOf } from './citations.ts'
import { conversationOf } from './messages.ts'
import { ignoredIn, questionOf } from './question.ts'
import { ResponsesRequestSchema, type OutputItem, type ResponsesRequest, type ResponsesResponse } from './responses-schema.ts'
import { refuseUnread } from './unread.ts'

/** Converts a request to a question. @throws invalid_request naming the unsupported field or message */
export function toQuestion(body: ResponsesRequest, own: ChatTemplate): ChatQuestion {
  refuseUnread(body, ResponsesRequestSchema.properties)
  const { input, instructions, max_output_tokens: newTokens } = body
  const items = typeof input === 'string' ? [{ role: 'user', content: input }] : input
  for (const [i, item] of items.entries()) {
    const type = 'type' in item ? item.type : undefined
    if (type !== undefined && type !== 'message')
      throw new CodedError('invalid_request', `input.${i}.type is ${JSON.stringify(type)}: only messages are read.`, {
        field: `input.${i}.type`,
      })
  }
  const { question, earlier } = conversationOf(items, 'input')
  const system = instructions?.trim() ? [{ role: 'system' as const, content: instructions.trim() }] : []
  return questionOf({ question, earlier: [...system, ...earlier] }, { ...body, newTokens }, own)
}

/** Paths of the parts of a request that have no effect on its question. */
export function ignoredOf({ input, instructions }: ResponsesRequest, question: ChatQuestion): string[] {
  const own = instructions?.trim() ? [{ role: 'system' }] : []
  return [
    ...ignoredIn(question, own, 'instructions').map(() => 'instructions'),
    ...ignoredIn(question, typeof input === 'string' ? [] : input, 'input'),
  ]
}

/** A response in progress. */
export function begun({ id, created, model }: Named, { instructions, temperature, top_p }: ResponsesRequest): ResponsesResponse {
  return {
    id,
    object: 'response',
    created_at: created,
    status: 'in_progress',
    error: null,
    incomplete_details: null,
    instructions: instructions ?? null,
    model,
    output: [],
    parallel_tool_calls: false,
    previous_response_id: null,
    temperature: temperature ?? null,
    top_p: top_p ?? null,
    text: { format: { type: 'text' } },
    tool_choice: 'none',
    tools: [],
    metadata: {},
    usage: null,
  }
}

/** Converts an answer to a response. */
export function answered(response: AnswerResponse, named: Named, request: ResponsesRequest): ResponsesResponse {
  const { usage, finish_reason: finish } = response
  const input_tokens = usage.prompt_tokens + usage.context_tokens
  return {
    ...begun(named, request),
    status: finish === 'length' ? 'incomplete' : 'completed',
    incomplete_details: finish === 'length' ? { reason: 'max_output_tokens' } : null,
    output: [itemOf(response, named)],
    usage: {
      input_tokens,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: usage.generated_tokens,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: input_tokens + usage.generated_tokens,
    },
    cepe: extensionOf(response, named),
  }
}

/** Id of a response's single message. */
export function messageId({ id }: Pick<Named, 'id'>): string {
  return id.replace(/^resp_/, 'msg_')
}

function itemOf(response: AnswerResponse, named: Named): OutputItem {
  const refusal = refusalOf(response)
  const annotations = citationsOf(response, named.addressOf).map((citation) => ({ type: 'url_citation' as const, ...citation }))
  const text = textOf(response, named)
  return {
    type: 'message',
    id: messageId(named),
    role: 'assistant',
    status: response.finish_reason === 'length' ? 'incomplete' : 'completed',
    content: [
      { type: 'output_text', text, annotations, logprobs: [] },
      ...(refusal === null ? [] : [{ type: 'refusal' as const, refusal }]),
    ],
  }
}
