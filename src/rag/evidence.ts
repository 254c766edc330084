import { at, given } from '../../base/at.ts'
import { eventLoopTurn } from '../../base/event-loop-turn.ts'
import type { AttendedSentence, ReadPlacement } from '../inference/contract.ts'
import type { RankedPassage } from './retrieve.ts'
import type { Evidence, Extract } from './schema.ts'
import { contentStems, plainWords, signedWords, stemsOf } from '../text/words.ts'
import { clipped, sentencesOf, type Span } from '../../base/sentences.ts'

interface EvidenceOptions {
  /** Cross-attention share of each context; empty if not measured. */
  readonly shares?: readonly number[]
  /** Answer to highlight; none if absent. */
  readonly answer?: string
  /** The most attended sentence of each passage, if requested. */
  readonly attended?: readonly (AttendedSentence | null)[] | undefined
  readonly fileOf?: ((passage: RankedPassage) => string | undefined | Promise<string | undefined>) | undefined
}

/** Builds the evidence of passages. Highlighting a megabyte of passages takes time, so it yields to other requests. */
export async function evidence(
  passages: readonly RankedPassage[],
  placement: ReadPlacement,
  { shares = [], answer = '', attended, fileOf }: EvidenceOptions = {},
): Promise<Evidence[]> {
  const turn = eventLoopTurn()
  const found: Evidence[] = []
  for (const [i, passage] of passages.entries()) {
    const { id, title, text, source, metadata, score } = passage
    if (turn.isOver()) await turn.next()
    const context = at(placement.contextOf, i)
    const encoded = context >= 0
    const inDecoder = at(placement.inDecoder, i)
    const file = await fileOf?.(passage)
    found.push({
      id,
      title,
      text,
      ...given({ source, metadata, file }),
      score,
      rank: i + 1,
      role: encoded ? (inDecoder ? 'both' : 'encoder') : inDecoder ? 'decoder' : 'unused',
      attention: encoded && shares.length > 0 ? at(shares, context) : null,
      tokens: encoded ? at(placement.contextTokenCounts, context) : null,
      highlights: highlights(text, answer),
      ...(attended && { attended: at(attended, i) }),
    })
  }
  return found
}

/** The passages that were read, most attended first; those of the prompt, whose attention is not measured, follow by rank. */
export function mostAttended(evidence: readonly Evidence[]): Evidence[] {
  return evidence.filter(({ role }) => role !== 'unused').sort((a, b) => (b.attention ?? -1) - (a.attention ?? -1))
}

/** The passages to cite for an answer: of those that were read, the first that contain it, else the most attended. */
export function cited(evidence: readonly Evidence[], most: { readonly saying: number; readonly attended: number }): Evidence[] {
  const saying = evidence.filter(({ role, highlights }) => role !== 'unused' && highlights.length > 0)
  return saying.length > 0 ? saying.slice(0, most.saying) : mostAttended(evidence).slice(0, most.attended)
}

/** The title of a passage, or its id. */
export function titleOf({ title, id }: Pick<Evidence, 'title' | 'id'>): string {
  return title.trim() === '' ? id : title
}

/** Limits: passages searched, best first; sentences of each; characters of a sentence. */
const MOST_PASSAGES = 5
const MOST_SENTENCES = 60
const SENTENCE_CHARACTERS = 1000
const ITEMS = /^(?:\n *(?:-|\w{1,5}[.)]) .*)+/

/**
 * The sentence nearest to a question, with the list that it introduces: the one that shares most of its words, title included; of equals,
 * the first of the best passage.
 * @returns null if no passage has a sentence
 */
export function nearestSentence(question: string, passages: readonly Evidence[]): Extract | null {
  const wanted = new Set(contentStems(plainWords(question)))
  let best: { readonly extract: Extract; readonly shared: number } | undefined
  for (const { id, title, text } of passages.slice(0, MOST_PASSAGES)) {
    const named = stemsOf(title)
    let sentences = 0
    for (const { start, end } of sentencesOf(text)) {
      if (++sentences > MOST_SENTENCES) break
      const items = text[end - 1] === ':' ? (ITEMS.exec(text.slice(end, end + SENTENCE_CHARACTERS))?.[0] ?? '') : ''
      const said = clipped(text.slice(start, end + items.length), SENTENCE_CHARACTERS)
      const words = stemsOf(said)
      const shared = [...wanted].filter((word) => words.has(word)).length + [...wanted].filter((word) => named.has(word)).length / 2
      if (said !== '' && (best === undefined || shared > best.shared))
        best = { extract: { id, title, start, end: start + said.length, text: said }, shared }
    }
  }
  return best?.extract ?? null
}

const MOST_HIGHLIGHTS = 20
/** Words, marked by `<` and `>`, within a longer number: 12 of 12.5 and of 12,500, 500 of 12,500. */
const PART_OF_NUMBER = /\d(?:\.<\d|[,'’\u00a0\u202f]<\d{3}(?!\d))|\d>(?:\.\d|[,'’\u00a0\u202f]\d{3}(?!\d))/

/**
 * Finds the answer's words, consecutive, in a passage, ignoring case, accents and punctuation other than signs, each match with its sentence
 * and the punctuation around it that the answer has, too (£, %); no part of a number. Leading articles of the answer are ignored.
 */
export function highlights(text: string, answer: string): Evidence['highlights'] {
  const said = answer.trim().replace(/^(?:the|an?)\s+(?=\S)/i, '')
  const words = signedWords(said)
  const [first, last] = [words[0], words.at(-1)]
  if (first === undefined || last === undefined) return []
  const [before, after] = [said.slice(0, first.start), said.slice(last.end)]
  const wanted = words.map(({ plain }) => plain)
  const own = signedWords(text)
  let sentences: Span[] | undefined
  const found: Evidence['highlights'] = []
  for (let at = 0; at + wanted.length <= own.length && found.length < MOST_HIGHLIGHTS; at++) {
    const [from, to] = [own[at], own[at + wanted.length - 1]]
    if (from === undefined || to === undefined || !wanted.every((word, i) => own[at + i]?.plain === word)) continue
    const { start, end } = { ...from, end: to.end }
    if (PART_OF_NUMBER.test(`${text.slice(Math.max(0, start - 2), start)}<${text.slice(start, end)}>${text.slice(end, end + 5)}`)) continue
    const whole = {
      start: start - (text.slice(0, start).endsWith(before) ? before.length : 0),
      end: end + (text.startsWith(after, end) ? after.length : 0),
    }
    found.push({ ...whole, sentence: sentenceAround((sentences ??= [...sentencesOf(text)]), start, end) })
  }
  return found
}

function sentenceAround(sentences: readonly Span[], start: number, end: number): Span {
  const first = sentences.findLast((sentence) => sentence.start <= start)
  const last = sentences.find((sentence) => sentence.end >= end)
  return { start: first?.start ?? 0, end: last?.end ?? end }
}
