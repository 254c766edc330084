import type { AnswerEvent } from '../../../rag/answer-events.ts'
import { titleOf } from '../../../rag/evidence.ts'
import type { AnswerResponse, ChatQuestion, Evidence } from '../../../rag/schema.ts'
import type { ChatTemplate } from '../../../text/chat-template.ts'
import { noAnswerText, refusalOf } from '../../../rag/no-answer/words.ts'
import { citationsOf, type AddressOf } from './citations.ts'
import { conversationOf, formattedBy, questionOf } from './question.ts'
import type { ChatRequest, ChatResponse } from './schema.ts'
import { invalidField } from '../../../../base/errors.ts'

/** Converts a chat request to a question. @throws invalid_request naming the unsupported field or message */
export function toAnswerRequest(chat: ChatRequest, own: ChatTemplate): ChatQuestion {
  if (chat.stream_options?.include_usage === true && chat.stream !== true)
    throw invalidField('stream_options', 'is for streams, and a complete answer has its usage: omit it, or set stream: true')
  const form = formOf(chat)
  const newTokens = chat.max_completion_tokens ?? chat.max_tokens
  if (typeof chat.max_tokens === 'number' && newTokens !== chat.max_tokens)
    throw invalidField('max_tokens', `is ${chat.max_tokens}, and max_completion_tokens is ${newTokens}: set one of them`)
  return { ...questionOf(conversationOf(chat.messages), { ...chat, newTokens }, own), ...form }
}

/** Identity and options of one completion. */
export interface Named {
  readonly id: string
  /** Unix time in seconds. */
  readonly created: number
  readonly model: string
  /** Whether to append the list of passages to the answer. */
  readonly sources: boolean
  /** Whether the answer is JSON of a requested form. */
  readonly isFormed: boolean
  /** Paths of request fields without effect. */
  readonly ignored: readonly string[]
  readonly addressOf: AddressOf
}

/** The `cepe` field of a response. */
export function extensionOf(response: AnswerResponse, { ignored }: Pick<Named, 'ignored'>): ChatResponse['cepe'] {
  const { question, reason, extract, evidence, confidence, probability_correct, abstained, mode, timings_ms, index } = response
  const told = { question, reason, extract, evidence, confidence, probability_correct, abstained, mode, timings_ms, index }
  return { ...told, ...(ignored.length > 0 && { ignored: [...ignored] }) }
}

/** Text of the answer, with a numbered list of its passages if `sources` is set; without an answer the reason, in words. */
export function textOf(response: AnswerResponse, { sources, isFormed, addressOf }: Named): string | null {
  const { answer, evidence } = response
  // Words are no JSON: a client that asked for a form finds the reason in `refusal`.
  if (isFormed) return answer || null
  return noAnswerText(response) ?? `${answer ?? ''}${sources ? sourceList(evidence, addressOf) : ''}`
}

/** Converts an answer to a chat completion. */
export function toCompletion(response: AnswerResponse, named: Named): ChatResponse {
  const { id, created, model, addressOf } = named
  const { finish_reason, usage } = response
  const prompt_tokens = usage.prompt_tokens + usage.context_tokens
  const message = {
    role: 'assistant' as const,
    content: textOf(response, named),
    refusal: refusalOf(response),
    annotations: citationsOf(response, addressOf).map((citation) => ({ type: 'url_citation' as const, url_citation: citation })),
  }
  return {
    id,
    object: 'chat.completion',
    created,
    model,
    choices: [{ index: 0, message, logprobs: logprobsOf(response), finish_reason: finish_reason ?? 'stop' }],
    usage: { prompt_tokens, completion_tokens: usage.generated_tokens, total_tokens: prompt_tokens + usage.generated_tokens },
    cepe: extensionOf(response, named),
  }
}

/** `[1] Title, https://...`: one line per passage read. */
function sourceList(evidence: readonly Evidence[], addressOf: AddressOf): string {
  const lines = evidence
    .filter(({ role }) => role !== 'unused')
    .map((passage) => `[${passage.rank}] ${titleOf(passage).replace(/\s+/g, ' ')}, ${addressOf(passage)}`)
  return lines.length === 0 ? '' : `\n\nSources:\n${lines.join('\n')}`
}

/** Converts answer events to chunks of a completion: the text as generated, then annotations, log-probabilities, finish reason. */
export async function* toChunks(
  events: AsyncGenerator<AnswerEvent, void, undefined>,
  { includeUsage, ...named }: Named & { readonly includeUsage: boolean },
): AsyncGenerator<object, void, undefined> {
  const { id, created, model } = named
  const base = { id, object: 'chat.completion.chunk', created, model }
  const chunk = (delta: object, finish_reason: string | null, more: object = {}, logprobs: object | null = null) => ({
    ...base,
    choices: [{ index: 0, delta, logprobs, finish_reason }],
    ...(includeUsage && { usage: null }),
    ...more,
  })
  let said = 0
  let isBegun = false
  for await (const happened of events) {
    // Send nothing before the first text: an error until then can still set the HTTP status, on which clients act.
    if (happened.event === 'evidence') continue
    if (!isBegun) yield chunk({ role: 'assistant', content: '', refusal: null }, null)
    isBegun = true
    if (happened.event === 'token') {
      said += happened.data.text.length
      yield chunk({ content: happened.data.text }, null)
    } else {
      const { choices, usage, cepe } = toCompletion(happened.data, named)
      for (const { message, finish_reason, logprobs } of choices) {
        const rest = (message.content ?? '').slice(said)
        if (rest !== '') yield chunk({ content: rest }, null)
        if (message.refusal !== null) yield chunk({ refusal: message.refusal }, null)
        if (message.annotations.length > 0) yield chunk({ annotations: message.annotations }, null)
        // For the whole text at once: only at its end is it known where it is truncated.
        if (logprobs !== null) yield chunk({}, null, {}, logprobs)
        yield chunk({}, finish_reason, { cepe })
      }
      if (includeUsage) yield { ...base, choices: [], usage }
    }
  }
}

/** A grammar that constrains decoding, and the number of top tokens to report. @throws invalid_request for an unsupported response format */
function formOf({ response_format, logprobs, top_logprobs, cepe }: ChatRequest) {
  const { type = 'text', json_schema: named } = response_format ?? {}
  const fields = ['response_format', 'response_format.json_schema.schema'] as const
  const formed = formattedBy({ type, schema: named && (named.schema ?? null) }, fields, cepe)
  if (typeof top_logprobs === 'number' && top_logprobs > 0 && logprobs !== true) throw invalidField('top_logprobs', 'needs logprobs: true')
  return { ...formed, ...(logprobs === true && { logprobs: top_logprobs ?? 0 }) }
}

/** Log-probabilities in OpenAI's format; null if not requested, or without an answer. */
function logprobsOf({ tokens }: Pick<AnswerResponse, 'tokens'>): ChatResponse['choices'][number]['logprobs'] {
  if (!tokens) return null
  const told = ({ text, logprob }: { readonly text: string; readonly logprob: number }) => ({
    token: text,
    logprob,
    bytes: [...new TextEncoder().encode(text)],
  })
  return { content: tokens.map(({ top, ...token }) => ({ ...told(token), top_logprobs: top.map(told) })), refusal: null }
}
