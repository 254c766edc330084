import { at, present } from '../../base/at.ts'
import type { PromptTokenizer } from './pack.ts'

/** Characters per piece: byte-pair merging is superlinear in the length of a text. */
const PIECE_CHARACTERS = 2000
/** Maximum length of a piece without a space to cut at. */
const LONGEST_PIECE = 4 * PIECE_CHARACTERS

interface Piece {
  readonly text: string
  /** Offset in the whole text. */
  readonly start: number
  /** Index of its first token. */
  readonly token: number
  readonly ids: readonly number[]
}

type Tokens = Pick<PromptTokenizer, 'encode' | 'decode'>

/**
 * Tokenises a text of any length in pieces, cut at single spaces between words, which no token crosses: the ids equal those of the whole
 * text (checked for tokenizers that mark word starts, add a leading space, or both).
 * @param yieldPoint awaited between pieces; may throw to cancel
 * @returns ids without BOS; `startOf` gives a token's offset (UTF-16 code unit), and the text's length for `ids.length`
 */
export async function encodeLong(text: string, tokenizer: Tokens, yieldPoint: (tokens: number) => Promise<void>) {
  // Whether " b" after "a" is tokenised as in "a b"; otherwise the tokenizer adds the space itself.
  const keepsSpace = [...tokenizer.encode('a'), ...tokenizer.encode('b')].join() !== tokenizer.encode('a b').join()
  const pieces: Piece[] = []
  const ids: number[] = []
  for (let start = 0; start < text.length;) {
    await yieldPoint(ids.length)
    const end = endOfPiece(text, start)
    // A tokenizer that adds a leading space restores the one cut off.
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
  return { ids, startOf: (index: number): number => (index >= ids.length ? text.length : characterOf(index, pieces, tokenizer)) }
}

/** Position of a space between two words near the target length. */
function endOfPiece(text: string, start: number): number {
  if (text.length - start <= PIECE_CHARACTERS) return text.length
  for (let end = start + PIECE_CHARACTERS; end < Math.min(text.length - 1, start + LONGEST_PIECE); end++) {
    if (text[end] === ' ' && /\w/.test(at(text, end - 1)) && /\w/.test(at(text, end + 1))) return end
  }
  const end = Math.min(text.length, start + LONGEST_PIECE)
  // Never within a surrogate pair.
  return /[\uD800-\uDBFF]/.test(at(text, end - 1)) ? end - 1 : end
}

function characterOf(index: number, pieces: readonly Piece[], tokenizer: Tokens): number {
  const piece = present(pieces.findLast(({ token }) => token <= index))
  return piece.start + charactersOf(piece, index - piece.token, tokenizer)
}

/** Number of a piece's characters that its first `count` tokens represent. */
function charactersOf({ text, ids }: Piece, count: number, tokenizer: Tokens): number {
  if (count === 0) return 0
  const tokens = (length: number): number => tokenizer.encode(text.slice(0, length)).length
  // Spaces and case may change in decoding; other characters mostly do not.
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
