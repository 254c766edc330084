import { sentencesIn } from '../../base/sentences.ts'
import type { Passage } from '../contract.ts'

const words = new Intl.Segmenter('en', { granularity: 'word' })

/** Most UTF-16 units of a sentence to segment into words at once: the segmenter's time grows with the square of the length. */
const PIECE = 2000
/** Longest run without a space that counts as one word, and longest word within a longer run (a URL, base64). */
const RUN = 40
/** Scripts that are written without spaces between words. */
const UNSPACED = /[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Thai}\p{scx=Laoo}\p{scx=Khmr}\p{scx=Mymr}]/u

interface Word {
  readonly text: string
  /** True if a space precedes it. */
  readonly spaced: boolean
}

/** Sentences of a text; long ones are split at words where possible. */
function* pieces(text: string): Generator<string> {
  for (const { start, end } of sentencesIn(text)) {
    let from = start
    while (end - from > PIECE) {
      const window = text.slice(from, from + PIECE)
      const cut = cutIn(window)
      yield window.slice(0, cut)
      from += cut
    }
    yield text.slice(from, end)
  }
}

/** Index at which to cut a window of text: after the last sentence or word in its second half, never inside a surrogate pair. */
function cutIn(window: string): number {
  const half = Math.floor(window.length / 2)
  const ends = [...window.slice(half).matchAll(/[.!?](?=\s)|[。！？]/g)]
  const sentence = ends.at(-1)?.index
  if (sentence !== undefined) return half + sentence + 1
  const space = window.search(/\s\S*$/)
  if (space >= half) return space + 1
  return /[\ud800-\udbff]$/.test(window) ? window.length - 1 : window.length
}

/**
 * Words of a sentence: runs between spaces, and the words of runs in scripts without spaces.
 * @param apart true if a space precedes the sentence
 */
function wordsOf(sentence: string, apart: boolean): Word[] {
  return sentence.split(/\s+/).flatMap((run, at) => {
    const spaced = at > 0 || apart
    if (run === '') return []
    if (run.length <= RUN && !UNSPACED.test(run)) return [{ text: run, spaced }]
    return Array.from(words.segment(run), ({ segment }) => segment.match(new RegExp(`[^]{1,${RUN}}`, 'gu')) ?? [])
      .flat()
      .map((text, i) => ({ text, spaced: spaced && i === 0 }))
  })
}

/** Splits a sentence of more than `most` words into near-equal parts. */
function breakLong(sentence: readonly Word[], most: number): Word[][] {
  const parts = Math.ceil(sentence.length / most)
  const size = Math.ceil(sentence.length / parts)
  return Array.from({ length: parts }, (_, i) => sentence.slice(i * size, (i + 1) * size))
}

function join(piece: readonly Word[]): string {
  return piece
    .map(({ text, spaced }, i) => (spaced && i > 0 ? ` ${text}` : text))
    .join('')
    .trim()
}

/** A passage of a document. */
export interface Part {
  readonly passage: Passage
  /** On the last passage: the number of passages of the document. */
  readonly parts?: number
}

/**
 * Splits a document into passages of about `target` words (DPR: Karpukhin et al. 2020 use 100), at sentence ends where one is near, in
 * linear time. Words of Chinese, Japanese, Thai and other scripts without spaces are found by Unicode segmentation. Each passage keeps
 * title and source; ids are `doc#1`, `doc#2`, ... A document that fits becomes `doc#1` unchanged.
 * @example
 * ```ts
 * import { splitDocument } from './index/read/split.ts'
 *
 * for (const { passage } of splitDocument({ id: 'doc', title: 'Handbook', text: 'A long text. Of many sentences.' }, 100)) console.log(passage.id)
 * ```
 */
export function* splitDocument(document: Passage, target = 100): Generator<Part> {
  const most = Math.ceil(target * 1.25)
  let number = 0
  let current: Word[] = []
  let ready: Passage | undefined
  const flush = (): Passage | undefined => {
    const text = join(current)
    current = []
    const before = ready
    if (text === '') return undefined
    ready = { ...document, id: `${document.id}#${++number}`, text }
    return before
  }
  let apart = true
  for (const piece of pieces(document.text)) {
    for (const part of breakLong(wordsOf(piece, apart), most)) {
      if (current.length + part.length > most) {
        const done = flush()
        if (done !== undefined) yield { passage: done }
      }
      current.push(...part)
      if (current.length < target) continue
      const done = flush()
      if (done !== undefined) yield { passage: done }
    }
    apart = /\s$/.test(piece)
  }
  const done = flush()
  if (done !== undefined) yield { passage: done }
  if (ready !== undefined) yield { passage: ready, parts: number }
}
