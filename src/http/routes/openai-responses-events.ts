import type { AnswerEvent } from '../../rag/answer-events.ts'
import type { Named } from './openai-chat.ts'
import { answered, begun, messageId } from './openai-responses.ts'
import type { OutputItem, ResponsesRequest } from './openai-responses-schema.ts'

/** An event of a streamed response, but for its number in the stream. */
interface StreamEvent {
  readonly type: string
  readonly [field: string]: unknown
}

/** The same with its number. */
export interface NumberedEvent extends StreamEvent {
  readonly sequence_number: number
}

/** What happens on the way to a response, as OpenAI's clients put it together again. */
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
  const place = { item_id: id, output_index: 0, content_index: 0 }
  let said = ''
  let isBegun = false
  for await (const happened of events) {
    // Nothing is sent before there is something to say: what fails until then has its own status, which clients act on.
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
      if (said === '') yield { type: 'response.content_part.added', ...place, part: EMPTY_TEXT }
      said += text
      yield { type: 'response.output_text.delta', ...place, delta: text, logprobs: [] }
      continue
    }
    const response = answered(happened.data, named, request)
    for (const item of response.output) yield* ended(item, place, said)
    yield { type: response.status === 'incomplete' ? 'response.incomplete' : 'response.completed', response }
  }
}

const EMPTY_TEXT = { type: 'output_text', text: '', annotations: [], logprobs: [] }

/** The rest of a message, and that it is whole. @param said of its text so far */
function* ended(item: OutputItem, place: object, said: string): Generator<StreamEvent, void, undefined> {
  for (const part of item.content) {
    if (part.type === 'refusal') {
      yield { type: 'response.content_part.added', ...place, part: { type: 'refusal', refusal: '' } }
      yield { type: 'response.refusal.delta', ...place, delta: part.refusal }
      yield { type: 'response.refusal.done', ...place, refusal: part.refusal }
    } else {
      if (said === '') yield { type: 'response.content_part.added', ...place, part: EMPTY_TEXT }
      const rest = part.text.slice(said.length)
      if (rest !== '') yield { type: 'response.output_text.delta', ...place, delta: rest, logprobs: [] }
      for (const [i, annotation] of part.annotations.entries())
        yield { type: 'response.output_text.annotation.added', ...place, annotation_index: i, annotation }
      yield { type: 'response.output_text.done', ...place, text: part.text, logprobs: [] }
    }
    yield { type: 'response.content_part.done', ...place, part }
  }
  yield { type: 'response.output_item.done', output_index: 0, item }
}
