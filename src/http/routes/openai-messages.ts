import { CodedError } from '../../../base/errors.ts'
import { LIMITS } from '../../rag/schema.ts'
import type { Turn } from '../../text/chat-template.ts'
import type { ChatRequest } from './openai-schema.ts'

type Message = ChatRequest['messages'][number]

const ROLES: ReadonlyMap<string, Turn['role']> = new Map([
  ['system', 'system'],
  ['developer', 'system'],
  ['user', 'user'],
  ['assistant', 'assistant'],
])
/** Fields of a message that hold something else than text. */
const UNREAD = ['tool_calls', 'tool_call_id', 'function_call', 'audio'] as const

/** A chat's question, and what was said before it. */
export interface Conversation {
  readonly question: string
  readonly earlier: readonly Turn[]
}

/**
 * The last message, which is the user's question, and those before it.
 * @throws invalid_request naming the message that cannot be read, or `messages` where the question is missing or too long
 */
export function conversationOf(messages: readonly Message[]): Conversation {
  const place = messages.findLastIndex(({ role }) => role === 'user')
  if (place >= 0 && place < messages.length - 1)
    throw refused(`messages.${place + 1}`, "comes after the user's last message: the question must be the last one")
  const turns = messages.map(turnOf).filter(({ content }) => content !== '')
  const asked = place < 0 ? undefined : turns.at(-1)
  if (asked?.role !== 'user') throw refused('messages', 'has no text from the user: the last message of role "user" is the question')
  // As schemas count them: by code points.
  const characters = Array.from(asked.content).length
  if (characters > LIMITS.questionCharacters)
    throw refused('messages', `ends with a question that has ${characters} characters; the most is ${LIMITS.questionCharacters}`)
  return { question: asked.content, earlier: turns.slice(0, -1) }
}

function turnOf(message: Message, i: number): Turn {
  const role = ROLES.get(message.role)
  if (role === undefined)
    throw refused(`messages.${i}.role`, `is ${JSON.stringify(message.role)}; it may be ${[...ROLES.keys()].join(', ')}`)
  const fields = new Map<string, unknown>(Object.entries(message))
  for (const field of UNREAD) {
    const value = fields.get(field)
    if (value !== undefined && value !== null && !(Array.isArray(value) && value.length === 0))
      throw refused(`messages.${i}.${field}`, 'is not supported: this service calls no tools')
  }
  return { role, content: textOf(message.content ?? '', i) }
}

function textOf(content: NonNullable<Message['content']>, message: number): string {
  if (typeof content === 'string') return content.trim()
  const parts = content.map(({ type, text }, i) => {
    if (type !== 'text') throw refused(`messages.${message}.content.${i}.type`, `is ${JSON.stringify(type)}: only text is read`)
    return text ?? ''
  })
  return parts.join('\n').trim()
}

function refused(field: string, problem: string): CodedError {
  return new CodedError('invalid_request', `${field} ${problem}.`, { field })
}
