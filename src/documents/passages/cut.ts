import { clipped } from '../../../base/sentences.ts'
import { groupsOf, joinedText, SURPLUS } from '../../../index/read/units.ts'
import type { Block, BlockDocument } from '../blocks/contract.ts'
import type { DocumentPassage } from '../schema.ts'
import { unitsOf } from './units.ts'

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
    const said = { title: passageTitle([title, ...section.path]), heading: shortened(heading, LONGEST_TITLE) }
    for (const units of groupsOf([...unitsOf(section.blocks, Math.ceil(words * SURPLUS))], words)) {
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
  /** The headings above, outermost first, without the document's title. */
  readonly path: readonly string[]
  /** A heading that has nothing below it, neither text nor headings, is a passage of its own. */
  readonly blocks: readonly Block[]
}

function* sectionsOf(title: string, blocks: readonly Block[]): Generator<Section> {
  let open: Heading[] = []
  let content: Block[] = []
  const pathOf = (headings: readonly Heading[]): string[] => headings.map(({ text }) => text).filter((text) => !repeats(title, text))
  function* section(next: Heading | undefined): Generator<Section> {
    const last = open.at(-1)
    if (content.length > 0) yield { path: pathOf(open), blocks: content }
    else if (last !== undefined && !repeats(title, last.text) && (next === undefined || next.level <= last.level))
      yield { path: pathOf(open.slice(0, -1)), blocks: [last] }
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
  return (
    title === heading ||
    (heading !== '' && title.startsWith(heading) && /^\s+[-\u2013\u2014|\u00b7:\u00bb]+\s/u.test(title.slice(heading.length)))
  )
}

/**
 * What a document is called: as the file says, else its first heading where that stands above all others and nothing before it, else its
 * name without the ending.
 */
export function titleOf(title: string, blocks: readonly Block[], name: string): string {
  if (title !== '') return title
  const [first, ...rest] = blocks
  const isAbove = first?.kind === 'heading' && rest.every((block) => block.kind !== 'heading' || block.level > first.level)
  return isAbove ? first.text : name.replace(/\.[^./\\]+$/, '')
}
