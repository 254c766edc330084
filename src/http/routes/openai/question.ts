import { randomInt } from 'node:crypto'
import { standaloneQuestion, saidIn } from '../../../rag/follow-up/standalone.ts'
import { LIMITS, type ChatQuestion } from '../../../rag/schema.ts'
import type { ChatTemplate, Turn } from '../../../text/chat-template.ts'
import { grammarOf } from '../../../text/grammar/from-schema.ts'
import type { ChatRequest } from './schema.ts'
import { invalidField } from '../../../../base/errors.ts'

/** Parameters common to chat completions and responses; OpenAI's clients send null for unset ones. */
interface ChatOptions extends Pick<ChatRequest, 'temperature' | 'top_p' | 'top_k' | 'seed' | 'stop' | 'cepe'> {
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
          // Modulo 2^32.
          seed: (seed ?? randomInt(2 ** 32)) >>> 0,
        },
      }),
  }
}

/** The grammar of an answer's format; none for text. @param field of the format; of its schema @throws invalid_request for an unsupported format, and for sources after JSON */
export function formattedBy(
  { type, schema }: { readonly type: string; readonly schema?: unknown },
  [field, schemaField]: readonly [field: string, schemaField: string],
  cepe: ChatRequest['cepe'],
): Pick<ChatQuestion, 'grammar'> {
  if (type === 'text' && schema !== undefined)
    throw invalidField(schemaField, 'has no effect with type text: omit it, or take type json_schema')
  if (type === 'text') return {}
  const remedy = 'is not supported: take json_schema, with a schema that names the fields'
  if (type !== 'json_schema') throw invalidField(field, `of type ${JSON.stringify(type)} ${remedy}`)
  if (cepe?.sources === true)
    throw invalidField('cepe.sources', `would follow the JSON that ${field} asks for, and make it invalid: omit one of them`)
  return { grammar: grammarOf(schema, schemaField) }
}

/** Paths of parts of a conversation without effect: system messages that are not rendered. @param field of the messages in the request */
export function ignoredIn(
  { chat_template: template }: ChatQuestion,
  messages: readonly { readonly role?: string }[],
  field: string,
): string[] {
  if (template === 'tokenizer') return []
  return messages.flatMap(({ role }, i) => (role === 'system' || role === 'developer' ? [`${field}.${i}`] : []))
}

type Message = ChatRequest['messages'][number]

const ROLES = new Map(Object.entries<Turn['role']>({ system: 'system', developer: 'system', user: 'user', assistant: 'assistant' }))
/** Types of text parts, by the field that contains the messages. */
const TEXT_PARTS: Readonly<Record<'messages' | 'input', readonly string[]>> = {
  messages: ['text'],
  input: ['input_text', 'output_text', 'text'],
}

interface Conversation {
  readonly question: string
  readonly earlier: readonly Turn[]
}

/**
 * Splits messages into the question, the last message of the user, and earlier turns.
 * @param field field of the request that contains the messages
 * @throws invalid_request naming an unsupported message, or the field if the question is missing or too long
 */
export function conversationOf(messages: readonly Message[], field: keyof typeof TEXT_PARTS = 'messages'): Conversation {
  const last = messages.findLastIndex(({ role }) => role === 'user')
  if (last >= 0 && last < messages.length - 1)
    throw invalidField(`${field}.${last + 1}`, "comes after the user's last message: the question must be the last one")
  const turns = messages.map((message, i) => turnOf(message, `${field}.${i}`, TEXT_PARTS[field]))
  const asked = turns[last]
  if (!asked?.content) throw invalidField(field, 'has no text from the user: the last message of role "user" is the question')
  // Code points, as JSON schema counts characters.
  const characters = Array.from(asked.content).length
  if (characters > LIMITS.questionCharacters)
    throw invalidField(field, `ends with a question that has ${characters} characters; the most is ${LIMITS.questionCharacters}`)
  return { question: asked.content, earlier: turns.slice(0, -1).filter(({ content }) => content !== '') }
}

/** @param name path of the message. @param types of its parts that are read */
function turnOf(message: Message, name: string, types: readonly string[]): Turn {
  const role = ROLES.get(message.role)
  if (role === undefined)
    throw invalidField(`${name}.role`, `is ${JSON.stringify(message.role)}; it may be ${[...ROLES.keys()].join(', ')}`)
  const content = textOf(message.content ?? '', `${name}.content`, types)
  return { role, content: role === 'assistant' ? saidIn(content) : content }
}

function textOf(content: NonNullable<Message['content']>, path: string, types: readonly string[]): string {
  if (typeof content === 'string') return content.trim()
  const parts = content.map(({ type, text }, i) => {
    // An earlier refusal of this service, sent back with the conversation.
    if (type === 'refusal') return ''
    if (!types.includes(type)) throw invalidField(`${path}.${i}.type`, `is ${JSON.stringify(type)}: only text is read`)
    if (text === undefined) throw invalidField(`${path}.${i}.text`, 'is missing')
    return text
  })
  return parts.join('\n').trim()
}
