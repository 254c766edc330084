import { groupsOf, joinedText, SURPLUS } from '../../../index/read/units.ts'
import type { Block, BlockDocument } from '../blocks/contract.ts'
import type { DocumentPassage } from '../schema.ts'
import { sectionsOf, type Section } from './sections.ts'
import { unitsOf, type DocumentUnit } from './units.ts'

/** Maximum characters of a passage's title; headings between the first and the last are dropped. */
const LONGEST_TITLE = 300

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
      // A repeated lead-in has none.
      const page = units.map((unit) => ('page' in unit ? unit.page : undefined)).find((page) => page !== undefined)
      yield { ...said, text: joinedText(units), ...(page !== undefined && { page }) }
    }
  }
}

/** A heading without content is a passage of its own, so that no text is lost. */
function sectionUnits({ blocks, lone }: Section, words: number): DocumentUnit[] {
  const shown: readonly Block[] = lone === undefined ? blocks : [lone]
  return [...unitsOf(shown, Math.ceil(words * SURPLUS))]
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
