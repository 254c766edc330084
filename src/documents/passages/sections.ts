import type { Block } from '../blocks/contract.ts'

type Heading = Extract<Block, { kind: 'heading' }>

/** What stands between two headings. */
export interface Section {
  /** The headings above, outermost first, without the document's title. */
  readonly path: readonly string[]
  readonly blocks: readonly Block[]
  /** A heading that has nothing below it, neither text nor headings. */
  readonly lone?: Heading
}

/** A document's sections in their order. */
export function* sectionsOf(title: string, blocks: readonly Block[]): Generator<Section> {
  let open: Heading[] = []
  let content: Block[] = []
  const pathOf = (headings: readonly Heading[]): string[] => headings.map(({ text }) => text).filter((text) => !repeats(title, text))
  function* section(next: Heading | undefined): Generator<Section> {
    const last = open.at(-1)
    if (content.length > 0) yield { path: pathOf(open), blocks: content }
    else if (last !== undefined && !repeats(title, last.text) && (next === undefined || next.level <= last.level))
      yield { path: pathOf(open.slice(0, -1)), blocks: [], lone: last }
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
