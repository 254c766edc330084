import { sentencesIn } from '../../../base/sentences.ts'
import { countWords, sentenceUnits, type Unit } from '../../../index/read/units.ts'
import { pageAt, textsOf, type Block } from '../blocks/contract.ts'

export interface DocumentUnit extends Unit {
  /** 1-based page of its first character. */
  readonly page?: number
}

/** A lead-in with more words is not repeated. */
const LEAD_IN_WORDS = 40
/** Longer code is cut between lines. */
const CODE_CHARACTERS = 8000

/** Splits a section's blocks into units, in order. @param most words of a unit; longer sentences, items and rows are cut at spaces */
export function* unitsOf(blocks: readonly Block[], most: number): Generator<DocumentUnit> {
  /** Of the block before, if this one is a list, table or code. */
  let leadIn: string | undefined
  for (const [i, block] of blocks.entries()) {
    const [before, next] = [blocks[i - 1], blocks[i + 1]]
    const nextLeadIn = next === undefined || isProse(next) ? undefined : leadInOf(block)
    // On a later page it is not repeated: a passage begins on the page that it names.
    const leadInPage = before?.kind === 'paragraph' ? pageAt(before, before.text.length - (leadIn?.length ?? 0)) : undefined
    for (const part of partsOf(block)) {
      const words = isProse(block) ? Infinity : countWords(part.text)
      const units = block.kind === 'code' || words <= most ? [{ ...part, words, start: 0 }] : [...sentenceUnits(part.text, most)]
      for (const [at, { text, words, join, start }] of units.entries()) {
        const unit = { text, words, join: at === 0 ? part.join : join }
        const page = pageAt(block, part.start + start)
        const isLeadIn = nextLeadIn !== undefined && at === units.length - 1
        const repeated = leadIn !== undefined && page === leadInPage && { leadIn }
        yield { ...unit, ...(page !== undefined && { page }), ...repeated, ...(isLeadIn && { introduces: true }) }
      }
    }
    leadIn = nextLeadIn
  }
}

function isProse({ kind }: Block): boolean {
  return kind === 'heading' || kind === 'paragraph'
}

/** The last sentence of a paragraph if it ends with a colon, or is the only one. */
function leadInOf(block: Block): string | undefined {
  if (block.kind !== 'paragraph') return undefined
  const sentences = Array.from(sentencesIn(block.text), ({ start, end }) => block.text.slice(start, end).trim())
  const last = sentences.at(-1)
  const isLeadIn = last !== undefined && (sentences.length === 1 || /[:\uff1a]$/.test(last)) && countWords(last) <= LEAD_IN_WORDS
  return isLeadIn ? last : undefined
}

interface Part {
  readonly text: string
  readonly start: number
  readonly join: string
}

/** The text of a heading or paragraph, items, rows, and code. */
function* partsOf(block: Block): Generator<Part> {
  if (block.kind === 'code') {
    yield* codeParts(block.text)
    return
  }
  let start = 0
  for (const text of textsOf(block)) {
    yield { text, start, join: '\n' }
    start += text.length + 1
  }
}

/** Cuts code at line ends, and longer lines anywhere. */
function* codeParts(code: string): Generator<Part> {
  let join = '\n'
  for (let start = 0; start < code.length;) {
    const most = start + CODE_CHARACTERS
    const line = code.lastIndexOf('\n', most)
    const end = most >= code.length ? code.length : line > start ? line : /[\ud800-\udbff]/.test(code.charAt(most - 1)) ? most - 1 : most
    const text = code.slice(start, end)
    if (text.trim() !== '') yield { text, start, join }
    join = code[end] === '\n' ? '\n' : ''
    start = end + join.length
  }
}
