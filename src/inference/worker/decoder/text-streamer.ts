import { at } from '../../../../base/at.ts'
import { cutAtStop, withoutBegunStop } from '../../../text/stops.ts'
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
    if (stopIds.includes(id)) return true
    ids.push(id)
    const { text: line, stopped } = cutAtStop(firstLine(tokenizer.decode(ids)), stops)
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
