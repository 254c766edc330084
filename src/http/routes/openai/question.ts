import { randomInt } from 'node:crypto'
import { standaloneQuestion } from '../../../rag/follow-up/standalone.ts'
import { LIMITS, type ChatQuestion } from '../../../rag/schema.ts'
import type { ChatTemplate } from '../../../text/chat-template.ts'
import type { Conversation } from './messages.ts'
import type { ChatRequest } from './schema.ts'

/** Parameters common to chat completions and responses; OpenAI's clients send null for unset ones. */
export interface ChatOptions extends Pick<ChatRequest, 'temperature' | 'top_p' | 'top_k' | 'seed' | 'stop' | 'cepe'> {
  readonly newTokens: number | null | undefined
}

/**
 * Converts a conversation to a question. A follow-up question is rewritten to stand alone. Earlier messages are rendered with the model's
 * chat template; without one, only the rewritten question reflects them, and system messages have no effect ({@link ignoredIn}).
 * @param own the service's chat template
 */
export function questionOf(conversation: Conversation, chat: ChatOptions, own: ChatTemplate): ChatQuestion {
  const { sources: _, chat_template: chatTemplate = own, ...options } = chat.cepe ?? {}
  const { temperature, top_p: topP, top_k: topK, seed, newTokens } = chat
  const stop = [chat.stop ?? []].flat().filter((text) => text !== '')
  return {
    question: standaloneQuestion(conversation.question, conversation.earlier),
    turns: conversation.earlier,
    chat_template: chatTemplate,
    ...options,
    ...(stop.length > 0 && { stop }),
    ...(typeof newTokens === 'number' && { max_new_tokens: newTokens === -1 ? LIMITS.newTokens : Math.min(newTokens, LIMITS.newTokens) }),
    ...(typeof temperature === 'number' &&
      temperature > 0 && {
        sampling: {
          temperature: Math.max(LIMITS.leastTemperature, temperature),
          top_p: topP === 0 ? Number.MIN_VALUE : (topP ?? 1),
          ...(typeof topK === 'number' && topK > 0 && { top_k: topK }),
          seed: unsigned(seed ?? randomInt(2 ** 32)),
        },
      }),
  }
}

/**
 * Paths of the parts of a conversation that have no effect on a question: system messages, if they are not rendered.
 * @param field of the messages in the request
 */
export function ignoredIn(
  { chat_template: template }: ChatQuestion,
  messages: readonly { readonly role: string }[],
  field: string,
): string[] {
  if (template === 'tokenizer') return []
  return messages.flatMap(({ role }, i) => (role === 'system' || role === 'developer' ? [`${field}.${i}`] : []))
}

function unsigned(seed: number): number {
  return ((seed % 2 ** 32) + 2 ** 32) % 2 ** 32
}
