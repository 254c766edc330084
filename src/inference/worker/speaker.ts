import { at } from '../../../base/at.ts'
import type { Tokenizer } from '../../text/tokenizer.ts'
import type { Say } from '../protocol.ts'

/** Told of each token as it is made. */
export type OnToken = (id: number) => void

/** What is left of a character of which some bytes are missing still. */
const UNFINISHED = /\uFFFD+$/

/** An answer ends where its line does. */
export function firstLine(text: string): string {
  return at(text.split('\n'), 0)
}

/**
 * Says an answer as its tokens come, so that the pieces joined are the front of the answer as it will be: its first line,
 * trimmed. Held back is what may yet change: white space at the end, and a character that is not whole.
 */
export function createSpeaker({
  tokenizer,
  stopIds,
  say,
}: {
  readonly tokenizer: Pick<Tokenizer, 'decode'>
  readonly stopIds: readonly number[]
  readonly say: Say
}): OnToken {
  const ids: number[] = []
  let said = ''
  return (id) => {
    if (stopIds.includes(id)) return
    ids.push(id)
    const text = firstLine(tokenizer.decode(ids)).trimStart().replace(UNFINISHED, '').trimEnd()
    if (text.length <= said.length || !text.startsWith(said)) return
    say({ from: said.length, text: text.slice(said.length) })
    said = text
  }
}
