import { at } from '../../../../base/at.ts'
import { cutAtStop, withoutBegunStop } from '../../../text/stops.ts'
import type { Tokenizer } from '../../../text/tokenizer.ts'
import type { OnText } from '../../protocol.ts'

/** Called with each token as it is generated. @returns true where the answer ends with it */
export type OnToken = (id: number) => boolean

/** What is left of a character of which some bytes are missing still. */
const UNFINISHED = /\uFFFD+$/

/** An answer ends where its line does. */
export function firstLine(text: string): string {
  return at(text.split('\n'), 0)
}

/**
 * Says an answer as its tokens come, so that the pieces joined are the front of the answer as it will be: its first line,
 * trimmed, up to a stop. Held back is what may yet change: white space at the end, a character that is not whole, the
 * beginning of a stop.
 * @param say hears the pieces; where absent, only the answer's end is looked for
 */
export function createTokenStream({
  tokenizer,
  stopIds,
  stops = [],
  say: onText,
}: {
  readonly tokenizer: Pick<Tokenizer, 'decode'>
  readonly stopIds: readonly number[]
  /** Texts that end the answer where they come up. */
  readonly stops?: readonly string[] | undefined
  readonly say?: OnText | undefined
}): OnToken {
  const ids: number[] = []
  let said = ''
  return (id) => {
    if (stopIds.includes(id)) return true
    ids.push(id)
    const { text: line, stopped } = cutAtStop(firstLine(tokenizer.decode(ids)), stops)
    const whole = line.replace(UNFINISHED, '')
    const text = (stopped ? whole : withoutBegunStop(whole, stops)).trim()
    if (text.length > said.length && text.startsWith(said)) {
      onText?.({ from: said.length, text: text.slice(said.length) })
      said = text
    }
    return stopped
  }
}
