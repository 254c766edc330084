import { Template } from '@huggingface/jinja'
import { CodedError, invalidField, reasonOf } from '../../base/errors.ts'
import { isObject } from '../../base/json.ts'
import { tokenText } from '../../models/tokenizer/token-text.ts'

/** none: plain text. inst: LLaMA-2-Chat's [INST] ... [/INST]. tokenizer: the model's own (chat_template.jinja, tokenizer_config.json). */
export const CHAT_TEMPLATES = ['none', 'inst', 'tokenizer'] as const
export type ChatTemplate = (typeof CHAT_TEMPLATES)[number]

export interface Turn {
  readonly role: 'system' | 'user' | 'assistant'
  readonly content: string
}

/** Text before and after a prompt. */
export interface Wrap {
  readonly before: string
  readonly after: string
  /** The template contains BOS: the tokenizer's is not added. */
  readonly withoutBos?: boolean
}

export const NO_WRAP: Wrap = { before: '', after: '' }
/** One turn without a system prompt, as LLaMA-2-Chat was trained (Touvron et al., 2023). */
const INST: Wrap = { before: '[INST] ', after: ' [/INST]' }

export function wrapped({ before, after }: Wrap, prompt: string): string {
  return before + prompt + after
}

/** Placeholder for the prompt in a rendered template: one that no template changes. */
const MARK = '\uE000prompt\uE000'

/** Thoughts that a template begins, though it was rendered without thinking: an answer of one line would be their first one. */
const OPEN_THOUGHT = /(?<=<think>)\s*$/

/**
 * Renders the text around a user's last message, up to the start of the assistant's, without thinking. As in transformers, a model's template
 * decides on BOS.
 * @param config of tokenizer_config.json
 * @param putsBos whether the tokenizer adds BOS to a prompt, so that the template's own is removed
 * @throws unsupported if the model has no usable template; invalid_request naming `messages` if the template rejects them, or is not the
 * model's own
 */
export function chatWrap(
  template: ChatTemplate,
  config: Readonly<Record<string, unknown>>,
  putsBos = true,
  earlier: readonly Turn[] = [],
): Wrap {
  if (earlier.length > 0 && template !== 'tokenizer') throw unasked(`chat_template is ${template}, which has no place for it`)
  if (template === 'none') return NO_WRAP
  if (template === 'inst') return INST
  const source = templateOf(config['chat_template'])
  if (source === undefined) throw unusable('this model has none: choose inst or none')
  const [bos = '', eos = ''] = [tokenText(config['bos_token']), tokenText(config['eos_token'])]
  const parts = render(source, { bos, eos, messages: [...earlier, { role: 'user', content: MARK }] }).split(MARK)
  const [before, generation] = parts
  const after = generation?.replace(OPEN_THOUGHT, '\n\n</think>\n\n')
  if (before === undefined || after === undefined || parts.length > 2)
    throw unusable('the chat_template of this model does not show the message once')
  if (putsBos && bos !== '' && before.startsWith(bos)) return { before: before.slice(bos.length), after }
  return { before, after, withoutBos: true }
}

function render(source: string, { bos, eos, messages }: { bos: string; eos: string; messages: readonly Turn[] }): string {
  try {
    const variables = { messages: [...messages], add_generation_prompt: true, enable_thinking: false, bos_token: bos, eos_token: eos }
    return new Template(source).render(variables)
  } catch (error) {
    // Some templates, such as Gemma 2's, have no system role: its text precedes the first message of the user then.
    if (messages.some(({ role }) => role === 'system')) return render(source, { bos, eos, messages: withoutSystem(messages) })
    if (messages.length > 1) throw unasked(`its chat_template refuses them (${reasonOf(error)})`)
    throw unusable(`the chat_template of this model cannot be rendered (${reasonOf(error)})`)
  }
}

function withoutSystem(messages: readonly Turn[]): Turn[] {
  const system = messages.flatMap(({ role, content }) => (role === 'system' ? content : []))
  const others = messages.filter(({ role }) => role !== 'system')
  const first = others.findIndex(({ role }) => role === 'user')
  return others.map((turn, i) => (i === first ? { ...turn, content: [...system, turn.content].join('\n\n') } : turn))
}

/** A template, or the one named "default" of several. */
function templateOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value
  if (!Array.isArray(value)) return undefined
  return templateOf(value.filter(isObject).find(({ name }) => name === 'default')?.['template'])
}

function unusable(problem: string): CodedError {
  return new CodedError('unsupported', `chat_template is tokenizer, but ${problem}.`, { field: 'chat_template' })
}

function unasked(problem: string): CodedError {
  return invalidField('messages', `has a system message or earlier turns, but ${problem}: send the question alone, without instructions`)
}
