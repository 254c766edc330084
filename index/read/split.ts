import { sentencesIn } from '../../base/sentences.ts'
import type { Passage } from '../contract.ts'

const words = new Intl.Segmenter('en', { granularity: 'word' })

/** Most UTF-16 units of a sentence whose words are found at once: the segmenter's time grows with the square of a text's length. */
const PIECE = 2000
/** Longest run without a space that is one word; and longest word in one that is longer (a URL, base64). */
const RUN = 40
/** Scripts that are written without spaces between words. */
const UNSPACED = /[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Thai}\p{scx=Laoo}\p{scx=Khmr}\p{scx=Mymr}]/u

interface Word {
  readonly text: string
  /** True if a space stands before it. */
  readonly spaced: boolean
}

/** Sentences of a text, long ones in pieces that end at a word where there is such an end. */
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

/** Where to cut a window of text: after its last sentence or word in its second half, never inside a surrogate pair. */
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
 * @param apart true if a space stands before the sentence.
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

/** A sentence above `most` words in near-equal parts. */
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
  /** On the last one: how many passages the document has. */
  readonly parts?: number
}

/**
 * Cuts a document into passages of about `target` words (DPR: Karpukhin et al. 2020 use 100), at sentence ends where
 * one is near, one at a time and in time linear in the text. Words of Chinese, Japanese, Thai and other scripts without
 * spaces are found by Unicode's segmentation. Each passage keeps the title and source; ids are `doc#1`, `doc#2`, ...
 * A document that fits stays as it is, as `doc#1`.
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
