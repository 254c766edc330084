import { randomInt } from 'node:crypto'
import type { AnswerEvent } from '../../rag/answer-events.ts'
import { LIMITS, type AnswerResponse, type ChatQuestion, type Evidence } from '../../rag/schema.ts'
import type { ChatTemplate } from '../../text/chat-template.ts'
import { conversationOf } from './openai-messages.ts'
import { ChatRequestSchema, type ChatRequest, type ChatResponse } from './openai-schema.ts'
import { refuseUnread } from './openai-unread.ts'

/**
 * The answer request that a chat means: its last message is the question, those before it stand in the model's chat template.
 * @param chatTemplate the service's for chats
 * @throws invalid_request naming the field or message that is not read
 */
export function toAnswerRequest(chat: ChatRequest, chatTemplate: ChatTemplate): ChatQuestion {
  refuseUnread(chat, ChatRequestSchema.properties)
  const { question, earlier } = conversationOf(chat.messages)
  const { sources: _, ...options } = chat.cepe ?? {}
  const newTokens = chat.max_completion_tokens ?? chat.max_tokens
  const { temperature, top_p: topP, seed } = chat
  return {
    question,
    ...(earlier.length > 0 && { earlier }),
    chat_template: chatTemplate,
    ...options,
    ...(chat.stop && { stop: typeof chat.stop === 'string' ? [chat.stop] : chat.stop }),
    ...(typeof newTokens === 'number' && { max_new_tokens: Math.min(newTokens, LIMITS.newTokens) }),
    ...(typeof temperature === 'number' &&
      temperature > 0 && {
        sampling: {
          temperature: Math.max(LIMITS.leastTemperature, temperature),
          top_p: topP === 0 ? Number.MIN_VALUE : (topP ?? 1),
          seed: unsigned(seed ?? randomInt(2 ** 32)),
        },
      }),
  }
}

function unsigned(seed: number): number {
  return ((seed % 2 ** 32) + 2 ** 32) % 2 ** 32
}

/** A completion's own. */
export interface Named {
  readonly id: string
  /** Seconds. */
  readonly created: number
  readonly model: string
  /** Append the passages to the answer. */
  readonly sources: boolean
}

const NOTHING_FOUND = 'No passage was found to answer from.'
const NOT_SURE = 'No answer is sure enough.'

/** The chat completion that says an answer. */
export function toCompletion(
  { answer, abstained, finish_reason, usage, evidence, confidence, probability_correct, mode, timings_ms, index }: AnswerResponse,
  { id, created, model, sources }: Named,
): ChatResponse {
  const prompt_tokens = usage.prompt_tokens + usage.context_tokens
  const content = answer !== null && sources ? `${answer}${sourceList(evidence)}` : answer
  const message = { role: 'assistant' as const, content, refusal: answer === null ? (abstained ? NOT_SURE : NOTHING_FOUND) : null }
  return {
    id,
    object: 'chat.completion',
    created,
    model,
    choices: [{ index: 0, message, logprobs: null, finish_reason: finish_reason ?? 'stop' }],
    usage: { prompt_tokens, completion_tokens: usage.generated_tokens, total_tokens: prompt_tokens + usage.generated_tokens },
    cepe: { evidence, confidence, probability_correct, abstained, mode, timings_ms, index },
  }
}

/** `[1] Title, https://...`: a line for each passage that was read. */
function sourceList(evidence: readonly Evidence[]): string {
  const lines = evidence
    .filter(({ role }) => role !== 'unused')
    .map(({ rank, title, source, id }) => `[${rank}] ${title === '' ? id : title}${source === undefined ? '' : `, ${source}`}`)
  return lines.length === 0 ? '' : `\n\nSources:\n${lines.join('\n')}`
}

/**
 * The chunks of a streamed completion, as OpenAI's clients put them together again: the text as it comes about, then what
 * follows the answer, and how it ended.
 */
export async function* toChunks(
  events: AsyncGenerator<AnswerEvent, void, undefined>,
  { includeUsage, ...named }: Named & { readonly includeUsage: boolean },
): AsyncGenerator<object, void, undefined> {
  const { id, created, model } = named
  const base = { id, object: 'chat.completion.chunk', created, model }
  const chunk = (delta: object, finish_reason: string | null, more: object = {}) => ({
    ...base,
    choices: [{ index: 0, delta, logprobs: null, finish_reason }],
    ...(includeUsage && { usage: null }),
    ...more,
  })
  let said = 0
  let isBegun = false
  for await (const happened of events) {
    // Nothing is sent before there is something to say: what fails until then has its own status, which clients act on.
    if (happened.event === 'evidence') continue
    if (!isBegun) yield chunk({ role: 'assistant', content: '', refusal: null }, null)
    isBegun = true
    if (happened.event === 'token') {
      said += happened.data.text.length
      yield chunk({ content: happened.data.text }, null)
    } else {
      const { choices, usage, cepe } = toCompletion(happened.data, named)
      for (const { message, finish_reason } of choices) {
        const rest = message.content?.slice(said)
        if (rest) yield chunk({ content: rest }, null)
        if (message.refusal !== null) yield chunk({ refusal: message.refusal }, null)
        yield chunk({}, finish_reason, { cepe })
      }
      if (includeUsage) yield { ...base, choices: [], usage }
    }
  }
}
