import { unprocessable } from '../../../../base/errors.ts'
import { advance, forced, mayEnd, mustEnd, START, type Grammar, type Position } from '../../../text/grammar/grammar.ts'
import type { Tokenizer } from '../../../text/tokenizer.ts'

export type Constraint = ReturnType<typeof createConstraint>

/** Text of each token in mid-text; undefined for tokens without text of their own (special ones, parts of characters). */
export type TokenTexts = readonly (string | undefined)[]

/** Prefix for decoding single tokens: tokenizers drop a space at the start of a text. */
const ANCHOR = 'a'
const PART_OF_CHARACTER = '\uFFFD'

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

/**
 * Constrains an answer to a grammar, token by token. The first token may begin with a space, as a prompt's continuation does.
 * @param stopIds tokens that end the answer where the grammar may end
 */
export function createConstraint(given: Grammar, texts: TokenTexts, stopIds: readonly number[]) {
  const grammar = given.map((part) => (part.kind === 'string' ? { ...part, trimmed: true } : part))
  let position: Position = START
  let isBegun = false
  const after = (text: string | undefined): Position | undefined =>
    text === undefined ? undefined : advance(grammar, position, isBegun || text === ' ' ? text : text.replace(/^ /, ''))
  return {
    /** Tokens of the text that must follow, chosen without the model; empty if the vocabulary cannot write it. */
    forced: (): number[] => longestTokens(forced(grammar, position), texts),
    /** Masks the tokens that the grammar does not allow next. @throws unprocessable if no token of the vocabulary is allowed */
    mask: (logprobs: Float64Array): Float64Array => {
      const open = mayEnd(grammar, position) ? [...stopIds] : []
      for (let id = 0; id < logprobs.length; id++) if (after(texts[id]) !== undefined) open.push(id)
      if (open.length === 0)
        throw unprocessable(
          'response_format',
          "The response format cannot be written with this model's tokens: use other names and values, of plain letters and digits.",
        )
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
function longestTokens(text: string, texts: TokenTexts): number[] {
  const ids: number[] = []
  for (let from = 0; from < text.length;) {
    let [best, length] = [-1, 0]
    for (const [id, own] of texts.entries()) if (own && own.length > length && text.startsWith(own, from)) [best, length] = [id, own.length]
    if (best < 0) return []
    ids.push(best)
    from += length
  }
  return ids
}
