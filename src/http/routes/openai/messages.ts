import { CodedError } from '../../../../base/errors.ts'
import { saidIn } from '../../../rag/follow-up/standalone.ts'
import { LIMITS } from '../../../rag/schema.ts'
import type { Turn } from '../../../text/chat-template.ts'
import type { ChatRequest } from './schema.ts'

type Message = ChatRequest['messages'][number]

const ROLES: ReadonlyMap<string, Turn['role']> = new Map([
  ['system', 'system'],
  ['developer', 'system'],
  ['user', 'user'],
  ['assistant', 'assistant'],
])
/** Types of text parts, by the field that contains the messages. */
const TEXT_PARTS: Readonly<Record<'messages' | 'input', readonly string[]>> = {
  messages: ['text'],
  input: ['input_text', 'output_text', 'text'],
}
interface MessagePath {
  readonly field: keyof typeof TEXT_PARTS
  readonly i: number
}
/** Unsupported fields of a message. */
const UNREAD = ['tool_calls', 'tool_call_id', 'function_call', 'audio'] as const

/** The question of a chat and the earlier turns. */
export interface Conversation {
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
    throw refused(`${field}.${last + 1}`, "comes after the user's last message: the question must be the last one")
  const turns = messages.map((message, i) => turnOf(message, { field, i })).filter(({ content }) => content !== '')
  const asked = last < 0 ? undefined : turns.at(-1)
  if (asked?.role !== 'user') throw refused(field, 'has no text from the user: the last message of role "user" is the question')
  // Code points, as JSON schema counts characters.
  const characters = Array.from(asked.content).length
  if (characters > LIMITS.questionCharacters)
    throw refused(field, `ends with a question that has ${characters} characters; the most is ${LIMITS.questionCharacters}`)
  return { question: asked.content, earlier: turns.slice(0, -1) }
}

function turnOf(message: Message, path: MessagePath): Turn {
  const name = `${path.field}.${path.i}`
  const role = ROLES.get(message.role)
  if (role === undefined) throw refused(`${name}.role`, `is ${JSON.stringify(message.role)}; it may be ${[...ROLES.keys()].join(', ')}`)
  const fields = new Map<string, unknown>(Object.entries(message))
  for (const field of UNREAD) {
    const value = fields.get(field)
    if (value !== undefined && value !== null && !(Array.isArray(value) && value.length === 0))
      throw refused(`${name}.${field}`, 'is not supported: this service calls no tools')
  }
  const content = textOf(message.content ?? '', path)
  return { role, content: role === 'assistant' ? saidIn(content) : content }
}

function textOf(content: NonNullable<Message['content']>, { field, i: message }: MessagePath): string {
  if (typeof content === 'string') return content.trim()
  const parts = content.map(({ type, text }, i) => {
    // An earlier refusal of this service, sent back with the conversation.
    if (type === 'refusal') return ''
    if (!TEXT_PARTS[field].includes(type))
      throw refused(`${field}.${message}.content.${i}.type`, `is ${JSON.stringify(type)}: only text is read`)
    return text ?? ''
  })
  return parts.join('\n').trim()
}

function refused(field: string, problem: string): CodedError {
  return new CodedError('invalid_request', `${field} ${problem}.`, { field })
}
