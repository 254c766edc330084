import type { AnswerEvent } from '../../../rag/answer-events.ts'
import type { Named } from './chat.ts'
import { answered, begun, messageId } from './responses.ts'
import type { OutputItem, ResponsesRequest } from './responses-schema.ts'

/** An event of a streamed response, without its sequence number. */
interface StreamEvent {
  readonly type: string
  readonly [field: string]: unknown
}

/** An event with its sequence number. */
export interface NumberedEvent extends StreamEvent {
  readonly sequence_number: number
}

/** Converts answer events to the events of a streamed response. */
export async function* toResponseEvents(
  events: AsyncGenerator<AnswerEvent, void, undefined>,
  named: Named,
  request: ResponsesRequest,
): AsyncGenerator<NumberedEvent, void, undefined> {
  let number = 0
  for await (const event of unnumbered(events, named, request)) yield { ...event, sequence_number: number++ }
}

async function* unnumbered(
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
