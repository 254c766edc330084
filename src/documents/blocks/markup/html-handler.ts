import { DomHandler, isTag } from 'domhandler'
import { BLOCKS } from './text.ts'

/** What an element ends, with all that is open in it, and what it ends nothing outside of. */
const CELL = { ends: /^(?:t[dh]|caption)$/, within: /^(?:tr|table)$/ }
const ROW = { ends: /^(?:t[dhr]|caption)$/, within: /^(?:thead|tbody|tfoot|table)$/ }
const ROWS = { ends: /^(?:t[dhr]|caption|thead|tbody|tfoot)$/, within: /^table$/ }
const OTHERS = new RegExp(`^(?:ul|ol|${[...BLOCKS].filter((name) => !/^(?:p|div|address|li|d[dt])$/.test(name)).join('|')})$`)
const ITEM = { ends: /^li$/, within: OTHERS }
const TERM = { ends: /^d[dt]$/, within: OTHERS }
const ENDED = new Map(Object.entries({ td: CELL, th: CELL, tr: ROW, thead: ROWS, tbody: ROWS, tfoot: ROWS, li: ITEM, dt: TERM, dd: TERM }))
/** Open elements that are looked at. */
const MOST_ABOVE = 100

/** Builds the tree of a page whose end tags may be left out (HTML, 13.1.2.4), also of elements with others in them, which the parser leaves open. */
export class HtmlHandler extends DomHandler {
  /** Elements that are open for the parser, which closes the ended ones later. */
  readonly #open: unknown[] = []

  override onopentag(name: string, attribs: Record<string, string>): void {
    for (const kept = this.#keptBy(name); this.tagStack.length > kept;) super.onclosetag()
    super.onopentag(name, attribs)
    this.#open.push(this.tagStack.at(-1))
  }

  override onclosetag(): void {
    if (this.#open.pop() === this.tagStack.at(-1)) super.onclosetag()
  }

  /** Number of open elements that an element does not end. */
  #keptBy(name: string): number {
    const open = this.tagStack
    const ended = ENDED.get(name)
    let kept = open.length
    for (let i = open.length - 1; ended !== undefined && i >= Math.max(1, open.length - MOST_ABOVE); i--) {
      const element = open[i]
      if (element === undefined || !isTag(element) || ended.within.test(element.name)) break
      if (ended.ends.test(element.name)) kept = i
    }
    return kept
  }
}
