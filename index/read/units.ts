import { sentencesIn, type Span } from '../../base/sentences.ts'
import type { Passage } from '../contract.ts'
import type { Accepted } from './contract.ts'

/** Words by which a passage may exceed its target, to keep a sentence intact or avoid a short remainder. */
export const SURPLUS = 1.25
const SURPLUS_AT_END = 1.5

/** Characters of scripts without spaces between words. */
const UNSPACED =
  /[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Bopo}\p{scx=Yiii}\p{scx=Thai}\p{scx=Laoo}\p{scx=Khmr}\p{scx=Mymr}\p{scx=Tibt}\p{scx=Lana}\p{scx=Tale}\p{scx=Talu}\p{scx=Java}\p{scx=Bali}]/gu
/** Approximate characters per word in those scripts. */
const CHARACTERS_A_WORD = 2
/** A longer run without spaces (a URL, base64) counts as several words. */
const LONGEST_WORD = 40

const words = new Intl.Segmenter('en', { granularity: 'word' })
/** Characters before and after a cut within which a word's end is looked for: the segmenter's time grows with the square of the length. */
const LOOK_BACK = 60
const LOOK_AHEAD = 20
/** A URL that is not cut. */
const LONGEST_RUN = 200

/** Indivisible part of a passage: a sentence, list item, table row or code block. */
export interface Unit {
  readonly text: string
  readonly words: number
  /** What stands between it and the unit before. */
  readonly join: string
  /** Lead-in of the list, table or code block that contains this unit; repeated in every passage. */
  readonly leadIn?: string
  /** It introduces the next unit, and is kept in the same passage. */
  readonly introduces?: true
}

/** Approximate word count, in linear time. */
export function countWords(text: string): number {
  // Most texts have spaces: one look is faster than one per word.
  const isSpaced = text.search(UNSPACED) < 0
  let count = 0
  for (const [run] of text.matchAll(/\S+/g)) {
    const unspaced = isSpaced ? 0 : (run.match(UNSPACED)?.length ?? 0)
    count += Math.ceil(unspaced / CHARACTERS_A_WORD + (run.length - unspaced) / LONGEST_WORD)
  }
  return count
}

/** Sentences of a text with their offsets and the white space between them. @param most words of a unit; longer ones are cut, at spaces */
export function* sentenceUnits(text: string, most: number): Generator<Unit & { readonly start: number }> {
  let before = 0
  for (const { start, end } of sentencesIn(text)) {
    const whole = { start, end, words: countWords(text.slice(start, end)) }
    for (const piece of whole.words <= most ? [whole] : piecesOf(text, whole, most)) {
      if (piece.words === 0) continue
      const trimmed = text.slice(piece.start, piece.end).trim()
      const from = text.indexOf(trimmed, piece.start)
      yield { text: trimmed, words: piece.words, join: from === before ? '' : text.slice(before, from), start: from }
      before = from + trimmed.length
    }
  }
}

interface Piece extends Span {
  readonly words: number
}

/** Cuts a range of a text into pieces of about `most` words. */
function* piecesOf(text: string, { start, end, words }: Piece, most: number): Generator<Piece> {
  const size = Math.ceil((end - start) / Math.ceil(words / most))
  for (let from = start; from < end;) {
    const to = from + size >= end ? end : cutAt(text, from, from + size)
    const piece = { start: from, end: to, words: countWords(text.slice(from, to)) }
    // Scripts are mixed: equal lengths are not equal numbers of words.
    if (piece.words > SURPLUS_AT_END * most && to - from < end - start) yield* piecesOf(text, piece, most)
    else yield piece
    from = to
  }
}

/** The last space before `end` in the second half of the piece, else the next one, else a word's end, else `end`; never inside a surrogate pair. */
function cutAt(text: string, from: number, end: number): number {
  const middle = Math.floor((from + end) / 2)
  const space = text.slice(middle, end + 1).lastIndexOf(' ')
  if (space > 0) return middle + space
  const run = text.slice(end, end + LONGEST_RUN)
  const next = run.indexOf(' ')
  if (next >= 0 && run.slice(0, next).search(UNSPACED) < 0) return end + next
  const first = Math.max(from, end - LOOK_BACK)
  const starts = Array.from(words.segment(text.slice(first, end + LOOK_AHEAD)), ({ index }) => first + index)
  const word = starts.findLast((at) => at <= end) ?? first
  if (word > middle) return word
  return /[\ud800-\udbff]/.test(text.charAt(end - 1)) ? end + 1 : end
}

/** Groups units into passages of about `target` words. A lead-in stays with what it introduces. */
export function* groupsOf<One extends Unit>(units: readonly One[], target: number): Generator<(One | Unit)[]> {
  let left = units.reduce((sum, unit) => sum + unit.words, 0)
  let group: (One | Unit)[] = []
  let held = 0
  const take = (unit: One | Unit): void => {
    group.push(unit)
    held += unit.words
  }
  for (const unit of units) {
    const hasMore = held + left > target * SURPLUS_AT_END
    if (group.length > 0 && hasMore && (held >= target || held + unit.words > target * SURPLUS)) {
      // Keep a lead-in with its unit.
      const introduction = group.length > 1 && group.at(-1)?.introduces === true ? group.pop() : undefined
      const alone = group.length === 1 && group[0]?.introduces === true
      if (!alone) {
        yield group
        group = []
        held = 0
        if (introduction !== undefined) take(introduction)
        else if (unit.leadIn !== undefined) take({ text: unit.leadIn, words: countWords(unit.leadIn), join: '\n' })
      }
    }
    take(unit)
    left -= unit.words
  }
  if (group.length > 0) yield group
}

export function joinedText(units: readonly Unit[]): string {
  return units.map(({ text, join }, i) => (i === 0 ? text : join + text)).join('')
}

/**
 * Splits a document into passages of about `target` words (DPR: Karpukhin et al. 2020 use 100), at sentence ends where one is near, in
 * linear time. White space inside a passage is kept. Each passage keeps title and source; ids are `doc#1`, `doc#2`, ...
 * @example
 * ```ts
 * import { splitDocument } from './index/read/units.ts'
 *
 * for (const { passage } of splitDocument({ id: 'doc', title: 'Handbook', text: 'A long text. Of many sentences.' }, 100)) console.log(passage.id)
 * ```
 */
export function* splitDocument(document: Passage, target = 100): Generator<Pick<Accepted, 'passage' | 'parts'>> {
  const units = [...sentenceUnits(document.text, Math.ceil(target * SURPLUS))]
  let number = 0
  let ready: Passage | undefined
  for (const group of groupsOf(units, target)) {
    if (ready !== undefined) yield { passage: ready }
    ready = { ...document, id: `${document.id}#${++number}`, text: joinedText(group) }
  }
  if (ready !== undefined) yield { passage: ready, parts: number }
}
