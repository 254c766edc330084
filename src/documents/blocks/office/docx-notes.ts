import { isTag, type Element } from 'domhandler'
import { ancestors } from '../markup/text.ts'
import { childOf, elementsOf } from '../markup/xml.ts'
import { levelNumber } from './docx-styles.ts'
import { valueOf } from './parts.ts'

/** Numbers of footnotes and endnotes as the settings of the document, or of a section, have them. */
export class NoteNumbers {
  readonly #settings: Element | undefined
  /** Properties of the sections. */
  readonly #sections: readonly Element[]
  readonly #sectionOf = new Map<Element, number>()
  /** By kind. */
  readonly #last = new Map<string, { readonly section: number; readonly count: number }>()
  /** Notes whose numbers begin anew on each page: where that is, only a layout shows. */
  byPage = 0

  /** @param elements of the body, in order */
  constructor(settings: string, elements: readonly Element[]) {
    this.#settings = elementsOf(settings, 'settings')[0]
    this.#sections = elements.filter(
      ({ name, parent }) => name === 'sectPr' && parent !== null && isTag(parent) && parent.name !== 'sectPrChange',
    )
    let passed = 0
    for (const element of elements) {
      if (element === this.#sections[passed]) passed++
      if (!element.name.endsWith('noteReference')) continue
      // The properties are in the last paragraph of a section, before its text.
      const last = this.#sections[passed - 1]?.parent?.parent
      this.#sectionOf.set(element, passed - Number([...ancestors(element)].some((above) => above === last)))
    }
  }

  /** The number of the next note. Endnotes have Roman ones by default, as in Word. */
  next(reference: Element): string {
    const kind = reference.name.replace('Reference', '')
    const section = this.#sectionOf.get(reference) ?? 0
    const all = [this.#sections[section], this.#settings].map((one) => childOf(one, `${kind}Pr`))
    const setting = (name: string): string | undefined => all.map((one) => valueOf(childOf(one, name))).find((value) => value !== '')
    const restart = setting('numRestart')
    if (restart === 'eachPage') this.byPage++
    const last = this.#last.get(kind)
    const isFirst = last === undefined || (restart === 'eachSect' && last.section !== section)
    const count = isFirst ? Number(setting('numStart') ?? 1) : last.count + 1
    this.#last.set(kind, { section, count })
    return levelNumber(count, setting('numFmt') ?? (kind === 'endnote' ? 'lowerRoman' : ''))
  }
}
