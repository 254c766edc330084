import { at, keptOrMade } from '../../../base/at.ts'
import { type DocumentChunk, type DocumentRequest, tooLong } from './request.ts'
import { encodeLong } from '../encode-long.ts'
import type { PromptTokenizer } from '../pack.ts'
import { type PromptPassage, renderPassage } from '../prompt.ts'
import { sentencesIn, type Span } from '../../../base/sentences.ts'

interface CountedUnit extends TextUnit {
  readonly tokens: number
}

/** Units between two calls of `yieldPoint`. */
const YIELD_UNITS = 16

/**
 * Packs units of text into chunks, each rendered as a passage with the title and the heading above it, like passages of open-domain
 * questions. A heading starts a new chunk.
 * @param room most tokens of the document's end for the decoder
 * @returns also the passage of each chunk
 */
export async function passageChunks(request: DocumentRequest, room: number, tokenizer: PromptTokenizer, yieldPoint: () => Promise<void>) {
  const { text, to, chunkTokens, encoderTokens } = request
  const titles = titlesFor(request.title, chunkTokens, tokenizer)
  const units = await countedUnits(request, tokenizer, yieldPoint)
  const tail = lastUnits(units, units.length, room)
  const first = lastUnits(units, tail, encoderTokens ?? Infinity)

  const contextIds: number[][] = []
  const chunks: DocumentChunk[] = []
  const passages: PromptPassage[] = []
  const emit = async (members: readonly TextUnit[]): Promise<void> => {
    await yieldPoint()
    const { start, heading } = at(members, 0)
    const { end } = at(members, members.length - 1)
    const passage = { title: titles(heading).title, text: shownText(text, members) }
    const ids = tokenizer.encode(renderPassage(passage))
    if (ids.length <= chunkTokens) {
      contextIds.push(ids)
      chunks.push({ start, end, tokens: ids.length })
      passages.push(passage)
      return
    }
    // Together they have more tokens than separately.
    const halves =
      members.length > 1 ? [members.slice(0, members.length >> 1), members.slice(members.length >> 1)] : halved(at(members, 0), text)
    for (const half of halves) await emit(half)
  }

  let members: CountedUnit[] = []
  let held = 0
  for (const unit of units.slice(first, tail)) {
    const previous = members[0]
    const full = previous !== undefined && held + unit.tokens + titles(unit.heading).tokens > chunkTokens
    if (previous !== undefined && (full || previous.heading !== unit.heading || isHeading(text, unit))) {
      await emit(members)
      members = []
      held = 0
    }
    members.push(unit)
    held += unit.tokens
  }
  if (members.length > 0) await emit(members)
  return { contextIds, chunks, passages, tailStart: units[tail]?.start ?? to, tailTokens: sumOf(units.slice(tail)), tokens: sumOf(units) }
}

/** Units with their token counts; a unit of more than half a chunk is split at token boundaries. */
async function countedUnits(
  { text, from, to, chunkTokens, documentTokens }: DocumentRequest,
  tokenizer: PromptTokenizer,
  yieldPoint: () => Promise<void>,
): Promise<CountedUnit[]> {
  const longest = Math.max(1, chunkTokens >> 1)
  const units: CountedUnit[] = []
  let total = 0
  const add = (unit: CountedUnit): void => {
    units.push(unit)
    total += unit.tokens
    if (total > documentTokens) throw tooLong(documentTokens)
  }
  let seen = 0
  for (const unit of unitsOf(text, from, to)) {
    if (seen++ % YIELD_UNITS === 0) await yieldPoint()
    const encoding = await encodeLong(text.slice(unit.start, unit.end), tokenizer, async (tokens) => {
      if (tokens > 0) await yieldPoint()
      if (total + tokens > documentTokens) throw tooLong(documentTokens)
    })
    const { length } = encoding.ids
    for (let token = 0; token === 0 || token < length; token += longest) {
      const last = Math.min(length, token + longest)
      const start = token === 0 ? unit.start : unit.start + encoding.startOf(token)
      add({ heading: unit.heading, start, end: last === length ? unit.end : unit.start + encoding.startOf(last), tokens: last - token })
    }
  }
  return units
}

function sumOf(units: readonly CountedUnit[]): number {
  return units.reduce((sum, { tokens }) => sum + tokens, 0)
}

/** Index of the first of the last units before `end` that together have at most this many tokens. */
function lastUnits(units: readonly CountedUnit[], end: number, tokens: number): number {
  let first = end
  for (let left = tokens; first > 0 && at(units, first - 1).tokens <= left;) left -= at(units, --first).tokens
  return first
}

/** Title and heading of a chunk with their token count; a title of more than half a chunk is dropped. */
function titlesFor(title: string, chunkTokens: number, tokenizer: PromptTokenizer) {
  const known = new Map<string, { readonly title: string; readonly tokens: number }>()
  const titleOf = (heading: string) => {
    const candidates = [[title, heading], [heading], [title], []].map((parts) =>
      [...new Set(parts)].filter((part) => part !== '').join(': '),
    )
    const counted = candidates.map((candidate) => ({
      title: candidate,
      tokens: tokenizer.encode(renderPassage({ title: candidate, text: '' }), { maxTokens: chunkTokens }).length,
    }))
    return counted.find(({ tokens }) => tokens <= chunkTokens >> 1) ?? at(counted, counted.length - 1)
  }
  return (heading: string) => keptOrMade(known, heading, () => titleOf(heading))
}

function isHeading(text: string, { start, heading }: TextUnit): boolean {
  return heading !== '' && text[start] === '#'
}

/** Text of a chunk as a passage: without its heading, which is in the title, and without line breaks inside paragraphs. */
function shownText(text: string, members: readonly TextUnit[]): string {
  const own = members.filter((unit) => !isHeading(text, unit))
  if (own.length === 0) return at(members, 0).heading
  const lines = text
    .slice(at(own, 0).start, at(own, own.length - 1).end)
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
  return lines.reduce((joined, line) => (joined === '' ? line : joined + (/^(?:[-*+|>]|\d+[.)])\s/.test(line) ? '\n' : ' ') + line), '')
}

function halved({ start, end, heading }: TextUnit, text: string): TextUnit[][] {
  const space = text.lastIndexOf(' ', (start + end) >> 1)
  const middle = space > start ? space : (start + end) >> 1
  if (middle <= start || middle >= end) throw new RangeError('This is a bug: a chunk of one character has too many tokens.')
  return [[{ start, end: middle, heading }], [{ start: middle, end, heading }]]
}

/** A unit of text that is split only if necessary: a sentence, a heading, a table row. Units are contiguous. */
interface TextUnit extends Span {
  /** The nearest heading above it, or its own; empty before the first. */
  readonly heading: string
}

const HEADING = /^#{1,6}\s+(\S.*)$/
/** A longer line is not a heading. */
const LONGEST_HEADING = 300

/** Splits a text with Markdown headings into contiguous units. */
export function* unitsOf(text: string, from = 0, to = text.length): Generator<TextUnit> {
  let heading = ''
  for (const { start, end } of paragraphs(text, from, to)) {
    const title = headingOf(text.slice(start, end))
    if (title !== undefined) {
      heading = title
      yield { start, end, heading }
    } else for (const sentence of sentencesIn(text, start, end)) yield { ...sentence, heading }
  }
}

/** Runs of lines including trailing blank ones; each heading is separate. */
function* paragraphs(text: string, from: number, to: number): Generator<Span> {
  let start = from
  let end = from
  let blank = false
  while (end < to) {
    const next = text.indexOf('\n', end)
    const lineEnd = next < 0 || next >= to ? to : next + 1
    const line = text.slice(end, lineEnd)
    const isHeading = headingOf(line) !== undefined
    if (end > start && ((blank && line.trim() !== '') || isHeading)) {
      yield { start, end }
      start = end
    }
    blank = line.trim() === '' || isHeading
    end = lineEnd
  }
  if (end > start) yield { start, end }
}

function headingOf(line: string): string | undefined {
  const trimmed = line.trim()
  if (trimmed.length > LONGEST_HEADING || trimmed.includes('\n')) return undefined
  return HEADING.exec(trimmed)?.[1]?.replace(/ #+$/, '')
}
