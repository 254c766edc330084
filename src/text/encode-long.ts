import { at } from '../../base/at.ts'
import type { PromptTokenizer } from './pack.ts'

/** Characters of a piece: byte-pair merging takes more than linear time in the length of a text. */
const PIECE_CHARACTERS = 2000
/** A piece without a space to cut at ends here, whatever stands there. */
const LONGEST_PIECE = 4 * PIECE_CHARACTERS

/** The tokens of a long text, and where each begins. */
export interface LongEncoding {
  /** As of the whole text, without BOS. */
  readonly ids: readonly number[]
  /** Character (UTF-16 code unit) at which token `index` begins; the text's length for `ids.length`. */
  startOf(index: number): number
}

interface Piece {
  readonly text: string
  /** Its first character in the whole text. */
  readonly start: number
  /** Its first token. */
  readonly token: number
  readonly ids: readonly number[]
}

type Tokens = Pick<PromptTokenizer, 'encode' | 'decode'>

/**
 * Tokenises a text of any length piece by piece, cut at single spaces between words, where no token reaches across: the ids
 * are those of the whole text (checked for tokenizers that mark a word's beginning, put a space in front of a text, or both).
 * @param step awaited between pieces; may throw to give up
 */
export async function encodeLong(text: string, tokenizer: Tokens, step: (tokens: number) => Promise<void>): Promise<LongEncoding> {
  const keepsSpace = readsLeadingSpace(tokenizer)
  const pieces: Piece[] = []
  const ids: number[] = []
  for (let start = 0; start < text.length;) {
    await step(ids.length)
    const end = endOfPiece(text, start)
    // Where the tokenizer puts a space in front of every text, the one that was cut off comes back by itself.
    const skip = !keepsSpace && start > 0 && text[start] === ' ' ? 1 : 0
    const piece = {
      text: text.slice(start + skip, end),
      start: start + skip,
      token: ids.length,
      ids: tokenizer.encode(text.slice(start + skip, end)),
    }
    pieces.push(piece)
    for (const id of piece.ids) ids.push(id)
    start = end
  }
  return { ids, startOf: (index) => (index >= ids.length ? text.length : characterOf(index, pieces, tokenizer)) }
}

/** Whether " b" is read after "a" as in "a b"; else the tokenizer puts the space in front of "b" by itself. */
function readsLeadingSpace(tokenizer: Tokens): boolean {
  const whole = tokenizer.encode('a b').join()
  const bare = [...tokenizer.encode('a'), ...tokenizer.encode('b')].join()
  return bare !== whole
}

/** Before a space between two words, at about the wanted length. */
function endOfPiece(text: string, start: number): number {
  if (text.length - start <= PIECE_CHARACTERS) return text.length
  for (let end = start + PIECE_CHARACTERS; end < Math.min(text.length - 1, start + LONGEST_PIECE); end++) {
    if (text[end] === ' ' && /\w/.test(at(text, end - 1)) && /\w/.test(at(text, end + 1))) return end
  }
  const end = Math.min(text.length, start + LONGEST_PIECE)
  // Never between the halves of a character.
  return /[\uD800-\uDBFF]/.test(at(text, end - 1)) ? end - 1 : end
}

function characterOf(index: number, pieces: readonly Piece[], tokenizer: Tokens): number {
  const piece = at(
    pieces,
    pieces.findLastIndex(({ token }) => token <= index),
  )
  return piece.start + charactersOf(piece, index - piece.token, tokenizer)
}

/** Characters of a piece that its first `count` tokens stand for. */
function charactersOf({ text, ids }: Piece, count: number, tokenizer: Tokens): number {
  if (count === 0) return 0
  const tokens = (length: number): number => tokenizer.encode(text.slice(0, length)).length
  // Spaces and case may come back otherwise than they were; the other characters mostly do as they were.
  let wanted = tokenizer.decode(ids.slice(0, count)).replace(/\s+/g, '').length
  let guess = 0
  while (guess < text.length && wanted > 0) if (!/\s/.test(at(text, guess++))) wanted--
  if (tokens(guess) === count) return guess
  let [low, high] = [0, text.length]
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if (tokens(middle) <= count) low = middle
    else high = middle - 1
  }
  return low
}
