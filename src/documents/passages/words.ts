/** Characters of scripts without spaces between words. */
const UNSPACED = /[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Thai}\p{scx=Laoo}\p{scx=Khmr}\p{scx=Mymr}]/gu
/** Approximate characters per word in those scripts. */
const CHARACTERS_A_WORD = 2
/** A longer run without spaces (a URL, base64) counts as several words. */
const LONGEST_WORD = 40

/** Approximate word count, in linear time. */
export function countWords(text: string): number {
  let words = 0
  for (const [run] of text.matchAll(/\S+/g)) {
    const unspaced = run.match(UNSPACED)?.length ?? 0
    words += unspaced === 0 ? Math.ceil(run.length / LONGEST_WORD) : Math.ceil(unspaced / CHARACTERS_A_WORD)
  }
  return words
}

/** Splits a text into pieces of about `most` words, at spaces if possible. */
export function piecesOf(text: string, most: number): string[] {
  const parts = Math.ceil(countWords(text) / most)
  if (parts <= 1) return [text]
  const size = Math.ceil(text.length / parts)
  const pieces: string[] = []
  for (let from = 0; from < text.length;) {
    const end = cutAt(text, from, from + size)
    pieces.push(text.slice(from, end).trim())
    from = end
  }
  return pieces.filter((piece) => piece !== '')
}

/** The last space before `end` in the second half of the piece, else `end`; never inside a surrogate pair. */
function cutAt(text: string, from: number, end: number): number {
  if (end >= text.length) return text.length
  const space = text.lastIndexOf(' ', end)
  if (space > from + (end - from) / 2) return space
  return /[\ud800-\udbff]/.test(text.charAt(end - 1)) ? end + 1 : end
}
