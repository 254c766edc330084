/** A part of a text in UTF-16 code units; `start` inclusive, `end` exclusive. */
export interface Span {
  readonly start: number
  readonly end: number
}

/** A fixed locale: sentence boundaries do not depend on the machine. */
const segmenter = new Intl.Segmenter('en', { granularity: 'sentence' })

/** What a sentence without space after it ends with where the text goes on: `a != b`, `search?q=`, `v20.Alpha`, `done.[3]`. */
const RUNS_ON = /[.!?]\p{P}{0,8}$/u

/** Abbreviations before a name or a term, such as initials and titles: their full stop ends no sentence. */
const ABBREVIATED =
  /(?<![\p{L}\p{N}])(?:\p{Lu}|Mrs?|Ms|Mx|Dr|Prof|Rev|Hon|Gen|Col|Capt|Lt|Sgt|Gov|Sen|Rep|Sts?|Mt|Ft|Hr|Fr|vs|cf|al|e\.g|i\.e|z\.B|d\.h)\.[ \u00A0]+$/u
/** What is followed by its number. */
const NUMBERED = /(?<![\p{L}\p{N}])(?:Nos?|Nr|Figs?|Abb|Eqs?|Secs?|Ch|Vols?|pp?|ca?)\.[ \u00A0]+$/iu
const WORD = /^[\p{L}\p{N}]/u
const DIGIT = /^\p{N}/u
/** With these words a sentence begins also after an initial: `vitamin C. The`. */
const BEGINS =
  /^(?:An?|The|This|That|These|Those|It|Its|He|His|She|Her|They|Their|We|Our|I|You|In|On|At|By|For|From|If|As|But|And|When|While|There)\b/

const SPACE = 32

/** UTF-16 units per call of the segmenter: the time per sentence is proportional to the text given. */
const WINDOW = 1000

/**
 * Splits a text (or a range of it) into sentences by Unicode's rules (UAX 29), lazily and in linear time; but a full stop, ! or ? without
 * space after it ends none, nor does that of an initial or a common abbreviation. Sentences are contiguous, each with the space after it; a
 * line end always ends one.
 */
export function* sentencesIn(text: string, from = 0, to = text.length): Generator<Span> {
  let first = from
  for (let start = from; start < to;) {
    for (const end of nextEnds(text, start, to)) {
      start = end
      if (end < to && isInside(text.slice(Math.max(first, end - 12), end), text.slice(end, Math.min(to, end + 8)))) continue
      yield { start: first, end }
      first = end
    }
  }
}

/** The sentences of a text, lazily, each without trailing space. */
export function* sentencesOf(text: string): Generator<Span> {
  for (const { start, end } of sentencesIn(text)) yield { start, end: start + text.slice(start, end).trimEnd().length }
}

/** Whether a boundary of the segmenter lies inside a sentence. */
function isInside(end: string, next: string): boolean {
  if (end.charCodeAt(end.length - 1) > SPACE) return RUNS_ON.test(end)
  return (ABBREVIATED.test(end) && WORD.test(next) && !BEGINS.test(next)) || (NUMBERED.test(end) && DIGIT.test(next))
}

/** Ends of at least one sentence from `start` on; of exactly one only if two sentences exceed the window. */
function nextEnds(text: string, start: number, to: number): number[] {
  for (let length = WINDOW; ; length *= 2) {
    const windowEnd = Math.min(to, start + length)
    const most = length === WINDOW ? Infinity : 1
    const ends = certainEnds(text.slice(start, windowEnd), windowEnd === to, most).map((end) => start + end)
    if (ends.length > 0) return ends
  }
}

/**
 * Ends of a window's first sentences that do not depend on later text: whether a full stop ends a sentence is decided by the next letter,
 * full stop or line end, one of which precedes the end of the following sentence.
 * @param isLast the text ends with the window
 * @param most ends to find
 */
function certainEnds(window: string, isLast: boolean, most: number): number[] {
  const ends: number[] = []
  for (const { segment, index } of segmenter.segment(window)) {
    ends.push(index + segment.length)
    if (ends.length >= most + 2) break
  }
  const isWhole = isLast && ends.at(-1) === window.length
  return ends.slice(0, isWhole ? undefined : -2).slice(0, most)
}

/** The beginning of a text: at most so many UTF-16 code units, and no half of a surrogate pair, which UTF-8 cannot represent. */
export function clipped(text: string, most: number): string {
  return text.length <= most ? text : text.slice(0, most).replace(/[\ud800-\udbff]$/, '')
}
