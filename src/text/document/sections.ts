import { sentencesIn } from '../../../base/sentences.ts'

/** A unit of text that is split only if necessary: a sentence, a heading, a table row. */
export interface TextUnit {
  /** Offset (UTF-16 code units) in the whole text; units are contiguous. */
  readonly start: number
  readonly end: number
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
function* paragraphs(text: string, from: number, to: number): Generator<{ start: number; end: number }> {
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
