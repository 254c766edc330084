import { sentencesIn } from '../../../base/sentences.ts'
import type { Block } from '../blocks/contract.ts'
import { countWords, piecesOf } from './words.ts'

/** Indivisible part of a section: a sentence, list item, table row or code block. */
export interface Unit {
  readonly text: string
  readonly words: number
  /** Separator from the previous unit of the same passage. */
  readonly join: ' ' | '\n'
  readonly page?: number
  /** Lead-in of the list, table or code block that contains this unit; repeated in every passage. */
  readonly leadIn?: string
  /** It introduces the next unit, and is kept in the same passage. */
  readonly introduces?: true
}

/** A lead-in with more words is not repeated. */
const LEAD_IN_WORDS = 40
/** Longer code is cut between lines. */
const CODE_CHARACTERS = 8000

/**
 * Splits a section's blocks into units, in order.
 * @param most words of a unit; longer sentences, items and rows are cut at spaces
 */
export function* unitsOf(blocks: readonly Block[], most: number): Generator<Unit> {
  for (const [i, block] of blocks.entries()) {
    const introduced = blocks[i + 1]
    const introduces = introduced !== undefined && introduced.kind !== 'paragraph' && introduced.kind !== 'heading'
    const leadIn = leadInOf(blocks[i - 1])
    const inherited = { ...(block.page !== undefined && { page: block.page }), ...(leadIn !== undefined && { leadIn }) }
    if (block.kind === 'heading' || block.kind === 'paragraph') yield* sentenceUnits(block, { most, introduces })
    else for (const text of partsOf(block)) yield* partUnits(text, block.kind === 'code' ? Infinity : most, inherited)
  }
}

function* sentenceUnits(
  { text, page }: { readonly text: string; readonly page?: number },
  { most, introduces }: { readonly most: number; readonly introduces: boolean },
): Generator<Unit> {
  const sentences = Array.from(sentencesIn(text), ({ start, end }) => text.slice(start, end).trim()).filter((one) => one !== '')
  for (const [i, sentence] of sentences.entries()) {
    const isLast = i === sentences.length - 1
    for (const [part, piece] of piecesOf(sentence, most).entries()) {
      yield {
        text: piece,
        words: countWords(piece),
        join: i === 0 && part === 0 ? '\n' : ' ',
        ...(page !== undefined && { page }),
        ...(isLast && introduces && isLeadIn(sentence, sentences.length) && { introduces }),
      }
    }
  }
}

/** A sentence is a lead-in if it ends with a colon, or is a paragraph by itself. */
function isLeadIn(sentence: string, sentences: number): boolean {
  return (sentences === 1 || /[:\uff1a]$/.test(sentence)) && countWords(sentence) <= LEAD_IN_WORDS
}

function leadInOf(before: Block | undefined): string | undefined {
  if (before?.kind !== 'paragraph') return undefined
  const sentences = Array.from(sentencesIn(before.text), ({ start, end }) => before.text.slice(start, end).trim())
  const last = sentences.at(-1)
  return last !== undefined && isLeadIn(last, sentences.length) ? last : undefined
}

/** An item, row or code unchanged; its sentences if it has more words than `most`. */
function* partUnits(text: string, most: number, inherited: Pick<Unit, 'page' | 'leadIn'>): Generator<Unit> {
  const words = countWords(text)
  if (words <= most) yield { text, words, join: '\n', ...inherited }
  else for (const unit of sentenceUnits({ text }, { most, introduces: false })) yield { ...unit, ...inherited }
}

function partsOf(block: Exclude<Block, { kind: 'heading' | 'paragraph' }>): readonly string[] {
  if (block.kind === 'list') return block.items
  if (block.kind === 'table') return block.rows
  return block.text.length <= CODE_CHARACTERS ? [block.text] : codeParts(block.text)
}

/** Splits code at line ends, unless a line is longer than a part. */
function codeParts(text: string): string[] {
  const parts: string[] = []
  let part = ''
  for (const line of text.split('\n').flatMap((one) => one.match(new RegExp(`[^]{1,${CODE_CHARACTERS}}`, 'gu')) ?? [''])) {
    if (part.length + line.length > CODE_CHARACTERS) {
      parts.push(part)
      part = ''
    }
    part += part === '' ? line : `\n${line}`
  }
  return [...parts, part].filter((one) => one.trim() !== '')
}
