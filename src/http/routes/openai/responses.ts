import { invalidField } from '../../../../base/errors.ts'
import type { AnswerResponse, ChatQuestion } from '../../../rag/schema.ts'
import type { ChatTemplate } from '../../../text/chat-template.ts'
import { refusalOf } from '../../../rag/no-answer/words.ts'
import { extensionOf, textOf, type Named } from './chat.ts'
import { citationsOf } from './citations.ts'
import { conversationOf, formattedBy, ignoredIn, questionOf } from './question.ts'
import type { OutputItem, ResponsesRequest, ResponsesResponse } from './schema.ts'
import type { AnswerEvent } from '../../../rag/answer-events.ts'

/** Converts a request to a question. @throws invalid_request naming the unsupported field or message */
export function toQuestion(body: ResponsesRequest, own: ChatTemplate): ChatQuestion {
  const { input, instructions, max_output_tokens: newTokens, text } = body
  const { type = 'text', schema } = text?.format ?? {}
  const formed = formattedBy({ type, schema }, ['text.format', 'text.format.schema'], body.cepe)
  const items = typeof input === 'string' ? [{ role: 'user', content: input }] : input.map(messageOf)
  const { question, earlier } = conversationOf(items, 'input')
  const system = instructions?.trim() ? [{ role: 'system' as const, content: instructions.trim() }] : []
  return { ...questionOf({ question, earlier: [...system, ...earlier] }, { ...body, newTokens }, own), ...formed }
}

/** @throws invalid_request for an item of another type; the remedy is that of clients that expect items to be stored */
function messageOf({ role, type = 'message', ...item }: Exclude<ResponsesRequest['input'], string>[number], i: number) {
  const problem = 'only messages are read, and none are stored: send them, or leave it out (AI SDK: providerOptions.openai.store: false)'
  if (type !== 'message') throw invalidField(`input.${i}.type`, `is ${JSON.stringify(type)}: ${problem}`)
  if (role === undefined) throw invalidField(`input.${i}.role`, 'is missing')
  return { ...item, role }
}

/** Paths of the parts of a request that have no effect on its question. */
export function ignoredOf({ input, instructions }: ResponsesRequest, question: ChatQuestion): string[] {
  const own = instructions?.trim() ? [{ role: 'system' }] : []
  return [
    ...ignoredIn(question, own, 'instructions').map(() => 'instructions'),
    ...ignoredIn(question, typeof input === 'string' ? [] : input, 'input'),
  ]
}

function begun({ id, created, model }: Named, { instructions, temperature, top_p, text }: ResponsesRequest): ResponsesResponse {
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
    text: { format: text?.format ?? { type: 'text' } },
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

function messageId({ id }: Pick<Named, 'id'>): string {
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
      ...(text === null ? [] : [{ type: 'output_text' as const, text, annotations, logprobs: [] }]),
      ...(refusal === null ? [] : [{ type: 'refusal' as const, refusal }]),
    ],
  }
}

/** An event of a streamed response, without its sequence number. */
interface StreamEvent {
  readonly type: string
  readonly [field: string]: unknown
}

/** Converts answer events to the events of a streamed response. */
export async function* toResponseEvents(
  events: AsyncGenerator<AnswerEvent, void, undefined>,
  named: Named,
  request: ResponsesRequest,
): AsyncGenerator<StreamEvent, void, undefined> {
  const id = messageId(named)
  const target = { item_id: id, output_index: 0, content_index: 0 }
  let said = ''
  let isBegun = false
  for await (const happened of events) {
    // Send nothing before the first text: an error until then can still set the HTTP status, on which clients act.
    if (happened.event === 'evidence') continue
    if (!isBegun) {
      const response = begun(named, request)
      const item: OutputItem = { type: 'message', id, role: 'assistant', status: 'in_progress', content: [] }
      yield { type: 'response.created', response }
      yield { type: 'response.in_progress', response }
      yield { type: 'response.output_item.added', output_index: 0, item }
    }
    isBegun = true
    if (happened.event === 'token') {
      const { text } = happened.data
      if (said === '') yield { type: 'response.content_part.added', ...target, part: EMPTY_TEXT }
      said += text
      yield { type: 'response.output_text.delta', ...target, delta: text, logprobs: [] }
      continue
    }
    const response = answered(happened.data, named, request)
    for (const item of response.output) yield* ended(item, said)
    yield { type: response.status === 'incomplete' ? 'response.incomplete' : 'response.completed', response }
  }
}

const EMPTY_TEXT = { type: 'output_text', text: '', annotations: [], logprobs: [] }

/** Events that complete a message. @param said text sent so far */
function* ended(item: OutputItem, said: string): Generator<StreamEvent, void, undefined> {
  for (const [content_index, part] of item.content.entries()) {
    const target = { item_id: item.id, output_index: 0, content_index }
    if (part.type === 'refusal') {
      yield { type: 'response.content_part.added', ...target, part: { type: 'refusal', refusal: '' } }
      yield { type: 'response.refusal.delta', ...target, delta: part.refusal }
      yield { type: 'response.refusal.done', ...target, refusal: part.refusal }
    } else {
      if (said === '') yield { type: 'response.content_part.added', ...target, part: EMPTY_TEXT }
      const rest = part.text.slice(said.length)
      if (rest !== '') yield { type: 'response.output_text.delta', ...target, delta: rest, logprobs: [] }
      for (const [i, annotation] of part.annotations.entries())
        yield { type: 'response.output_text.annotation.added', ...target, annotation_index: i, annotation }
      yield { type: 'response.output_text.done', ...target, text: part.text, logprobs: [] }
    }
    yield { type: 'response.content_part.done', ...target, part }
  }
  yield { type: 'response.output_item.done', output_index: 0, item }
}
