import { at } from '../../../../base/at.ts'
import { mayBecomePhrase } from '../../../text/instruction.ts'
import type { Tokenizer } from '../../../text/tokenizer.ts'
import type { OnText } from '../../protocol.ts'

/** Called with each token as it is generated. @returns true if it ends the answer */
export type OnToken = (id: number) => boolean

/** Incomplete UTF-8 sequences at the end of decoded text. */
const UNFINISHED = /\uFFFD+$/

/** The first line of a text: an answer ends there. */
export function firstLine(text: string): string {
  return at(text.split('\n'), 0)
}

/**
 * Text of generated tokens up to a stop token, and whether there is one. A stop with a line end may have text of the answer before it
 * (`%\n`); as the first token it says that there is no answer.
 * @param isForm leaves such text out: it is none of a form's
 */
export function textToStop(
  ids: readonly number[],
  stopIds: readonly number[],
  { decode }: Pick<Tokenizer, 'decode'>,
  isForm = false,
): { readonly text: string; readonly stopped: boolean } {
  const last = ids.at(-1)
  if (last === undefined || !stopIds.includes(last)) return { text: decode(ids), stopped: false }
  const before = decode(ids.slice(0, -1))
  const hasText = !isForm && before.trim() !== '' && decode([last]).includes('\n')
  return { text: hasText ? firstLine(decode(ids)) : before, stopped: true }
}

/**
 * Emits an answer's text as tokens are generated, so that the parts concatenate to a prefix of the final answer: its first line, trimmed,
 * up to a stop. Holds back what may still change: trailing white space, incomplete characters, the beginning of a stop.
 * @param onText receives the parts; if absent, only the end of the answer is detected
 */
export function createTextStreamer({
  tokenizer,
  stopIds,
  stops = [],
  heldBack = false,
  onText,
}: {
  readonly tokenizer: Pick<Tokenizer, 'decode'>
  readonly stopIds: readonly number[]
  readonly stops?: readonly string[] | undefined
  /** Hold back what may become the phrase that says that there is no answer. */
  readonly heldBack?: boolean
  readonly onText?: OnText | undefined
}): OnToken {
  const ids: number[] = []
  let said = ''
  return (id) => {
    ids.push(id)
    const end = textToStop(ids, stopIds, tokenizer)
    const { text: line, stopped: isCut } = cutAtStop(firstLine(end.text), stops)
    const stopped = end.stopped || isCut
    const whole = line.replace(UNFINISHED, '')
    const text = (stopped ? whole : withoutBegunStop(whole, stops)).trim()
    if (heldBack && mayBecomePhrase(text)) return stopped
    if (text.length > said.length && text.startsWith(said)) {
      onText?.({ from: said.length, text: text.slice(said.length) })
      said = text
    }
    return stopped
  }
}

/** Truncates a text at the first stop, and returns whether there was one. */
export function cutAtStop(text: string, stops: readonly string[]): { readonly text: string; readonly stopped: boolean } {
  const offsets = stops.map((stop) => text.indexOf(stop)).filter((offset) => offset >= 0)
  return offsets.length === 0 ? { text, stopped: false } : { text: text.slice(0, Math.min(...offsets)), stopped: true }
}

/** A text without a trailing prefix of a stop. */
function withoutBegunStop(text: string, stops: readonly string[]): string {
  const begun = stops.map((stop) => {
    let length = Math.min(stop.length - 1, text.length)
    while (length > 0 && !text.endsWith(stop.slice(0, length))) length--
    return length
  })
  return text.slice(0, text.length - Math.max(0, ...begun))
}
