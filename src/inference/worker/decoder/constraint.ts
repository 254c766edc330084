import { unprocessable } from '../../../../base/errors.ts'
import { advance, forced, mayEnd, mustEnd, START, type Grammar, type Position } from '../../../text/grammar/grammar.ts'
import type { Tokenizer } from '../../../text/tokenizer.ts'

export type Constraint = ReturnType<typeof createConstraint>

/** Text of each token in mid-text; undefined for tokens without text of their own (special ones, parts of characters). */
export type TokenTexts = readonly (string | undefined)[]

/** Prefix for decoding single tokens: tokenizers drop a space at the start of a text. */
const ANCHOR = 'a'
const PART_OF_CHARACTER = '\uFFFD'
const UNWRITABLE =
  "The response format cannot be written with this model's tokens: use other names and values, of plain letters and digits."

/** @param size of the vocabulary */
export function tokenTexts(tokenizer: Pick<Tokenizer, 'encode' | 'decode'>, size: number): TokenTexts {
  const anchor = tokenizer.encode(ANCHOR)
  const before = tokenizer.decode(anchor)
  return Array.from({ length: size }, (_, id) => {
    const text = tokenizer.decode([...anchor, id])
    const own = text.startsWith(before) ? text.slice(before.length) : ''
    return own === '' || own.includes(PART_OF_CHARACTER) ? undefined : own
  })
}

/** Writes a character that is no token in several; empty if the vocabulary cannot. */
export function characterTokens({ encode, decode }: Pick<Tokenizer, 'encode' | 'decode'>, character: string): number[] {
  const ids = encode(ANCHOR + character)
  return decode(ids) === ANCHOR + character ? ids.slice(encode(ANCHOR).length) : []
}

/**
 * Constrains an answer to a grammar, token by token. The first token may begin with a space, as a prompt's continuation does.
 * @param stopIds tokens that end the answer where the grammar may end
 * @param spelled tokens of a character without its own
 */
export function createConstraint(
  given: Grammar,
  texts: TokenTexts,
  stopIds: readonly number[],
  spelled: (character: string) => readonly number[] = () => [],
) {
  const grammar = given.map((part) => (part.kind === 'string' ? { ...part, trimmed: true } : part))
  let position: Position = START
  let isBegun = false
  const after = (text: string | undefined): Position | undefined =>
    text === undefined ? undefined : advance(grammar, position, isBegun || text === ' ' ? text : text.replace(/^ /, ''))
  return {
    /** Accepts the text that must follow, chosen without the model. @returns its tokens; none if the vocabulary cannot write it */
    forced: (): number[] => {
      const text = forced(grammar, position)
      const ids = longestTokens(text, texts, spelled)
      if (ids.length > 0) position = advance(grammar, position, text) ?? position
      isBegun ||= ids.length > 0
      return ids
    },
    /** Whether the answer is complete. */
    isOver: (): boolean => mustEnd(grammar, position),
    /** Masks the tokens that the grammar does not allow next. @throws unprocessable if no token of the vocabulary is allowed */
    mask: (logprobs: Float64Array): Float64Array => {
      const open = mayEnd(grammar, position) ? [...stopIds] : []
      for (let id = 0; id < logprobs.length; id++) if (after(texts[id]) !== undefined) open.push(id)
      if (open.length === 0) throw unprocessable('response_format', UNWRITABLE)
      const left = new Float64Array(logprobs.length).fill(-Infinity)
      for (const id of open) left[id] = logprobs[id] as number
      return left
    },
    /** Accepts the chosen token. @returns true if the answer is complete */
    accept: (id: number): boolean => {
      if (stopIds.includes(id)) return true
      position = after(texts[id]) ?? position
      isBegun = true
      return mustEnd(grammar, position)
    },
  }
}

/** A text in the longest tokens that fit, one after the other; empty if none fits. */
function longestTokens(text: string, texts: TokenTexts, spelled: (character: string) => readonly number[]): number[] {
  const ids: number[] = []
  for (let from = 0; from < text.length;) {
    let [best, length] = [-1, 0]
    for (const [id, own] of texts.entries()) if (own && own.length > length && text.startsWith(own, from)) [best, length] = [id, own.length]
    const [character = ''] = text.slice(from)
    const own = best < 0 ? spelled(character) : [best]
    if (own.length === 0) return []
    ids.push(...own)
    from += best < 0 ? character.length : length
  }
  return ids
}
