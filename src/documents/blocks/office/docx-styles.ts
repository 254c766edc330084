import { isTag, type Element } from 'domhandler'
import { at } from '../../../../base/at.ts'
import { numberText } from '../markup/list.ts'
import { bulletMark } from '../markup/symbols.ts'
import { childOf, childrenOf, elementsOf } from '../markup/xml.ts'
import { valueOf } from './parts.ts'

const CODE = /^(?:source code|html preformatted|preformatted text|code)$/i
const CONTENTS = /^(?:toc \d|table of figures|contents \d)/i
/** Styles that may be based on the title's. */
const BELOW_TITLE = /^(?:subtitle|author|date)$/i
const MOST_LEVELS = 6
const MOST_BASES = 20

export class Styles {
  readonly #styles: ReadonlyMap<string, Element>

  constructor(xml: string) {
    this.#styles = new Map(elementsOf(xml, 'style').map((style) => [style.attribs.styleId ?? '', style]))
  }

  nameOf(id: string): string {
    return valueOf(childOf(this.#styles.get(id), 'name'))
  }

  /** Properties of a run: its own, then those of its style, then those of its paragraph's. */
  ofRun(properties: Element | undefined, paragraph: Element | undefined): Element[] {
    const named = [childOf(properties, 'rStyle'), childOf(paragraph, 'pStyle')]
    const styles = named.flatMap((style) => this.#chain(valueOf(style)))
    return [properties, ...styles.map((style) => childOf(style, 'rPr'))].flatMap((one) => one?.children.filter(isTag) ?? [])
  }

  /** What a paragraph is by its style and properties: the title (a heading of level 0), a heading of level 1 to 6, code, an entry of a table of contents, or an item. */
  kindOf(properties: Element | undefined) {
    const chain = this.#chain(valueOf(childOf(properties, 'pStyle')))
    const all = [properties, ...chain.map((style) => childOf(style, 'pPr'))]
    const names = chain.map((style) => valueOf(childOf(style, 'name')))
    const outline = all.map((one) => childOf(one, 'outlineLvl')).find((one) => one !== undefined)
    const levels = names.map((name) => (/^title$/i.test(name) ? 0 : Number(/^heading (\d)$/i.exec(name)?.[1])))
    const named = names.slice(0, 1).some((name) => BELOW_TITLE.test(name)) ? undefined : levels.find((level) => level >= 0)
    const level = named ?? (outline === undefined ? 9 : Number(valueOf(outline))) + (named === undefined ? 1 : 0)
    const numbers = all.map((one) => childOf(one, 'numPr'))
    const id = numbers.map((one) => childOf(one, 'numId')).find((one) => one !== undefined)
    const depth = numbers.map((one) => childOf(one, 'ilvl')).find((one) => one !== undefined)
    const own = childOf(numbers[0], 'ilvl')
    const styles = own === undefined ? chain.flatMap(({ attribs }) => attribs.styleId ?? []) : []
    return {
      ...(level <= 9 && { heading: Math.min(level, MOST_LEVELS) }),
      isCode: names.some((name) => CODE.test(name)),
      isContents: names.some((name) => CONTENTS.test(name)),
      ...(id !== undefined && { list: { id: valueOf(id), styles, depth: Number(valueOf(depth) || 0) } }),
    }
  }

  #chain(id: string): Element[] {
    const chain: Element[] = []
    let style = this.#styles.get(id)
    while (style !== undefined && chain.length < MOST_BASES) {
      chain.push(style)
      style = this.#styles.get(valueOf(childOf(style, 'basedOn')))
    }
    return chain
  }
}

const LETTERS = 26
const NOTE_SIGNS = '*\u2020\u2021\u00a7'

export class Numbering {
  readonly #lists = new Map<string, { readonly key: string; readonly levels: ReturnType<typeof levelsOf> }>()
  readonly #counts = new Map<string, number[]>()

  constructor(xml: string) {
    const all = elementsOf(xml, 'abstractNum')
    /** Definitions that styles name. */
    const styled = new Map(all.map((one) => [valueOf(childOf(one, 'styleLink')), one]))
    const definitions = new Map(
      all.map((one) => {
        const linked = styled.get(valueOf(childOf(one, 'numStyleLink')) || 'none') ?? one
        return [one.attribs.abstractNumId ?? '', { id: linked.attribs.abstractNumId ?? '', levels: levelsOf(linked) }]
      }),
    )
    for (const list of elementsOf(xml, 'num')) {
      const { numId = '' } = list.attribs
      const definition = definitions.get(valueOf(childOf(list, 'abstractNumId')))
      const levels = new Map(definition?.levels)
      let isOwn = false
      for (const override of childrenOf(list, 'lvlOverride')) {
        const level = Number(override.attribs.ilvl)
        const known = levelsOf(override).get(level) ?? levels.get(level)
        const start = childOf(override, 'startOverride')
        isOwn ||= start !== undefined
        if (known !== undefined) levels.set(level, { ...known, ...(start !== undefined && { start: Number(valueOf(start)) }) })
      }
      // Lists of one definition count together, unless one begins anew.
      this.#lists.set(numId, { key: isOwn ? `own ${numId}` : (definition?.id ?? ''), levels })
    }
  }

  /**
   * The level of the next paragraph of a list, and its mark: "2.1.", "c)", "-"; undefined if it is none.
   * @param list.styles of the paragraph: one that a level names is of that level, else it is of the given depth
   */
  next(list: { readonly id: string; readonly styles: readonly string[]; readonly depth: number }) {
    const { levels } = this.#lists.get(list.id) ?? {}
    const [level = list.depth] = list.styles.flatMap((name) => [...(levels ?? [])].flatMap(([i, { style }]) => (style === name ? [i] : [])))
    const mark = this.#mark(list.id, level)
    return mark === undefined ? undefined : { level, mark }
  }

  #mark(list: string, level: number): string | undefined {
    const { key, levels } = this.#lists.get(list) ?? {}
    const own = levels?.get(level)
    if (key === undefined || own === undefined) return undefined
    const before = this.#counts.get(key) ?? []
    const counts = Array.from({ length: level + 1 }, (_, i) => before[i] ?? (levels?.get(i)?.start ?? 1) - (i === level ? 1 : 0))
    counts.push((counts.pop() ?? 0) + 1)
    for (const [i, { restarts }] of levels ?? []) if (i > level && level >= restarts && before[i] !== undefined) counts[i] = before[i]
    this.#counts.set(key, counts)
    if (own.format === 'bullet') return own.text.trim() === '' ? undefined : bulletMark(own.text, own.font)
    if (own.format === 'none') return own.text.replace(/%\d/g, '').trim() || undefined
    return own.text.replace(/%(\d)/g, (_, digit: string) => {
      const i = Number(digit) - 1
      return levelNumber(counts.at(i) ?? 1, own.isLegal ? '' : (levels?.get(i)?.format ?? ''))
    })
  }
}

/** A number as a level shows it; after "z" comes "aa", then "bb". */
export function levelNumber(number: number, format: string): string {
  if (format === 'chicago') return at(NOTE_SIGNS, (number - 1) % NOTE_SIGNS.length).repeat(Math.ceil(number / NOTE_SIGNS.length))
  if (format === 'decimalZero') return String(number).padStart(2, '0')
  if (!/Letter$/.test(format) || number < 1) return numberText(number, format)
  return numberText(((number - 1) % LETTERS) + 1, format).repeat(Math.ceil(number / LETTERS))
}

function levelsOf(element: Element) {
  return new Map(
    childrenOf(element, 'lvl').map((level) => [
      Number(level.attribs.ilvl),
      {
        start: Number(valueOf(childOf(level, 'start')) || 1),
        format: valueOf(childOf(level, 'numFmt')) || 'decimal',
        /** "%1.%2." */
        text: valueOf(childOf(level, 'lvlText')),
        font: childOf(childOf(level, 'rPr'), 'rFonts')?.attribs.ascii,
        /** Whether all numbers in it are decimal. */
        isLegal: childOf(level, 'isLgl') !== undefined,
        /** Its numbers restart after one of so many upper levels. */
        restarts: Number(valueOf(childOf(level, 'lvlRestart')) || Infinity),
        /** The style whose paragraphs are of this level. */
        style: valueOf(childOf(level, 'pStyle')),
      },
    ]),
  )
}
