import type { Block, BlockDocument } from '../blocks/contract.ts'
import type { DocumentPassage } from './contract.ts'
import { sectionsOf, type Section } from './sections.ts'
import { unitsOf, type Unit } from './units.ts'
import { countWords } from './words.ts'

/** Maximum characters of a passage's title; headings between the first and the last are dropped. */
const LONGEST_TITLE = 300
/** Words by which a passage may exceed its target, to keep a sentence intact or avoid a short remainder. */
const SURPLUS = 1.25
const SURPLUS_AT_END = 1.5

/**
 * Cuts a document into passages of about `words` words (DPR: Karpukhin et al. 2020 use 100), each within one section and ending with a
 * sentence, an item, a row or a whole code block. The title is the document's with the headings above.
 * @param document.title fallback title
 */
export function* cutPassages({ title, blocks }: Pick<BlockDocument, 'title' | 'blocks'>, words = 100): Generator<DocumentPassage> {
  for (const section of sectionsOf(title, blocks)) {
    const heading = section.path.join(' > ')
    const said = { title: titleOf([title, ...section.path]), heading: shortened(heading, LONGEST_TITLE) }
    for (const units of groupsOf(sectionUnits(section, words), words)) {
      const page = units.find((unit) => unit.page !== undefined)?.page
      yield { ...said, text: textOf(units), ...(page !== undefined && { page }) }
    }
  }
}

/** A heading without content is a passage of its own, so that no text is lost. */
function sectionUnits({ blocks, lone }: Section, words: number): Unit[] {
  const shown: readonly Block[] = lone === undefined ? blocks : [lone]
  return [...unitsOf(shown, Math.ceil(words * SURPLUS))]
}

function* groupsOf(units: readonly Unit[], words: number): Generator<Unit[]> {
  let left = units.reduce((sum, unit) => sum + unit.words, 0)
  let group: Unit[] = []
  let held = 0
  const take = (unit: Unit): void => {
    group.push(unit)
    held += unit.words
  }
  for (const unit of units) {
    const isFull = held >= words && held + left > words * SURPLUS_AT_END
    if (group.length > 0 && (isFull || (held + unit.words > words * SURPLUS && held + left > words * SURPLUS_AT_END))) {
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

function textOf(units: readonly Unit[]): string {
  return units.map(({ text, join }, i) => (i === 0 ? text : join + text)).join('')
}

/** The document's title and the passage's headings; if too long, middle ones are dropped. */
function titleOf(path: readonly string[]): string {
  const parts = path.filter((part) => part !== '')
  while (parts.length > 2 && parts.join(' > ').length > LONGEST_TITLE) parts.splice(1, 1)
  return shortened(parts.join(' > '), LONGEST_TITLE)
}

function shortened(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 3).replace(/[\ud800-\udbff]$/, '')}...`
}
