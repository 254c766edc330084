import { clipped, sentencesIn } from '../../../base/sentences.ts'
import { groupsOf, joinedText, SURPLUS, countWords, sentenceUnits, type Unit } from '../../../index/read/units.ts'
import { type Block, type BlockDocument, pageAt, textsOf } from '../blocks/contract.ts'
import type { DocumentPassage } from '../schema.ts'

/** Maximum characters of a passage's title; headings between the first and the last are dropped. */
const LONGEST_TITLE = 300

/**
 * Cuts a document into passages of about `words` words (DPR: Karpukhin et al. 2020 use 100), each within one section and ending with a
 * sentence, an item, a row or a whole code block. The title is the document's with the headings above.
 * @param document.title fallback title
 */
export function* cutPassages({ title, blocks }: Pick<BlockDocument, 'title' | 'blocks'>, words = 100): Generator<DocumentPassage> {
  const shown = new Set<Heading>()
  for (const section of sectionsOf(title, blocks)) {
    const path = section.headings.map(({ text }) => text).filter((text) => !repeats(title, text))
    const said = { title: passageTitle([title, ...path]), heading: shortened(path.join(' > '), LONGEST_TITLE) }
    // A heading that no title has room for is text.
    const cut = section.headings.filter((one) => !shown.has(one) && !said.title.includes(one.text))
    for (const one of section.headings) shown.add(one)
    for (const units of groupsOf([...unitsOf([...cut, ...section.blocks], Math.ceil(words * SURPLUS))], words)) {
      // A repeated lead-in has none.
      const page = units.map((unit) => ('page' in unit ? unit.page : undefined)).find((page) => page !== undefined)
      yield { ...said, text: joinedText(units), ...(page !== undefined && { page }) }
    }
  }
}

/** The document's title and the passage's headings; if too long, middle ones are dropped. */
function passageTitle(path: readonly string[]): string {
  const parts = path.filter((part) => part !== '')
  while (parts.length > 2 && parts.join(' > ').length > LONGEST_TITLE) parts.splice(1, 1)
  return shortened(parts.join(' > '), LONGEST_TITLE)
}

function shortened(text: string, most: number): string {
  return text.length <= most ? text : `${clipped(text, most - 3)}...`
}

type Heading = Extract<Block, { kind: 'heading' }>

interface Section {
  /** The headings above, outermost first. */
  readonly headings: readonly Heading[]
  /** A heading that has nothing below it, neither text nor headings, is a passage; the document's title only if there is no other. */
  readonly blocks: readonly Block[]
}

function* sectionsOf(title: string, blocks: readonly Block[]): Generator<Section> {
  let open: Heading[] = []
  let content: Block[] = []
  let isFirst = true
  function* section(next: Heading | undefined): Generator<Section> {
    const last = open.at(-1)
    const isLowest = next === undefined || (last !== undefined && next.level <= last.level)
    if (content.length > 0) yield { headings: open, blocks: content }
    else if (last !== undefined && isLowest && (!repeats(title, last.text) || (isFirst && next === undefined)))
      yield { headings: open.slice(0, -1), blocks: [last] }
    else return
    isFirst = false
    content = []
  }
  for (const block of blocks) {
    if (block.kind !== 'heading') {
      content.push(block)
      continue
    }
    yield* section(block)
    open = [...open.filter(({ level }) => level < block.level), block]
  }
  yield* section(undefined)
}

/** Whether a heading says no more than the title: the same, or the title without the site's name ("Profiles - The Cargo Book"). */
function repeats(title: string, heading: string): boolean {
  const rest = title.slice(heading.length)
  return title === heading || (heading !== '' && title.startsWith(heading) && /^\s+[-\u2013\u2014|\u00b7:\u00bb]+\s/u.test(rest))
}

/** A document's title: as the file says, else its first heading if above all others and all text, else its name without the ending. */
export function titleOf(title: string, blocks: readonly Block[], name: string): string {
  if (title !== '') return title
  const [first, ...rest] = blocks
  const isAbove = first?.kind === 'heading' && rest.every((block) => block.kind !== 'heading' || block.level > first.level)
  return isAbove ? first.text : name.replace(/\.[^./\\]+$/, '')
}

/** A lead-in with more words is not repeated. */
const LEAD_IN_WORDS = 40
/** Longer code is cut between lines. */
const CODE_CHARACTERS = 8000

/** Splits a section's blocks into units, in order. @param most words of a unit; longer sentences, items and rows are cut at spaces */
function* unitsOf(blocks: readonly Block[], most: number): Generator<Unit & Pick<DocumentPassage, 'page'>> {
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

/** The text of a heading or paragraph, items, rows, and code. */
function* partsOf(block: Block) {
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
function* codeParts(code: string) {
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
