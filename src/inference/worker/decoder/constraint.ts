import { unprocessable } from '../../../../base/errors.ts'
import { isBegun, isFinal, isWhole, type Constrained } from '../../../text/grammar/grammar.ts'
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

/**
 * Constrains an answer to a value, token by token. The first token may begin with a space, as a prompt's continuation does.
 * @param stopIds tokens that end the answer where the value may end
 */
export function createConstraint(value: Constrained, texts: TokenTexts, stopIds: readonly number[]) {
  let said = ''
  const after = (text: string | undefined): string | undefined => {
    if (text === undefined) return undefined
    const next = said + (said === '' && text !== ' ' ? text.replace(/^ /, '') : text)
    return isBegun(value, next) ? next : undefined
  }
  return {
    /** Masks the tokens that the value does not allow next. @throws unprocessable if no token of the vocabulary is allowed */
    mask: (logprobs: Float64Array): Float64Array => {
      const open = isWhole(value, said) ? [...stopIds] : []
      for (let id = 0; id < logprobs.length; id++) if (after(texts[id]) !== undefined) open.push(id)
      if (open.length === 0) throw unprocessable('response_format', UNWRITABLE)
      const left = new Float64Array(logprobs.length).fill(-Infinity)
      for (const id of open) left[id] = logprobs[id] as number
      return left
    },
    /** Accepts the chosen token. @returns true if the answer is complete */
    accept: (id: number): boolean => {
      if (stopIds.includes(id)) return true
      said = after(texts[id]) ?? said
      return isFinal(value, said)
    },
  }
}
