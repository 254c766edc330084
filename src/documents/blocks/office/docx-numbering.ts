import type { Element } from 'domhandler'
import { numberText } from '../markup/list.ts'
import { childOf, elementsOf } from '../xml.ts'

/** Formats of numbers, as types of HTML's lists. */
const TYPES = new Map([
  ['lowerLetter', 'a'],
  ['upperLetter', 'A'],
  ['lowerRoman', 'i'],
  ['upperRoman', 'I'],
])

interface Level {
  readonly start: number
  readonly format: string
  /** "%1.%2." */
  readonly text: string
}

/** Numbers paragraphs in their order. */
export class Numbering {
  readonly #lists = new Map<string, { readonly key: string; readonly levels: ReadonlyMap<number, Level> }>()
  readonly #counts = new Map<string, number[]>()

  /** @param xml the part numbering.xml */
  constructor(xml: string) {
    const definitions = new Map(elementsOf(xml, 'abstractNum').map((one) => [one.attribs.abstractNumId ?? '', levelsOf(one)]))
    for (const list of elementsOf(xml, 'num')) {
      const { numId = '' } = list.attribs
      const definition = valueOf(childOf(list, 'abstractNumId'))
      const levels = new Map(definitions.get(definition))
      let isOwn = false
      for (const override of list.children) {
        if (!('name' in override) || override.name !== 'lvlOverride' || !('attribs' in override)) continue
        const level = Number(override.attribs.ilvl)
        const known = levelsOf(override).get(level) ?? levels.get(level)
        const start = childOf(override, 'startOverride')
        isOwn ||= start !== undefined
        if (known !== undefined) levels.set(level, { ...known, ...(start !== undefined && { start: Number(valueOf(start)) }) })
      }
      // Lists of one definition count together, unless one begins anew.
      this.#lists.set(numId, { key: isOwn ? `own ${numId}` : definition, levels })
    }
  }

  /** The mark of the next paragraph of a list: "2.1.", "c)", "-"; undefined if it is none. */
  next(list: string, level: number): string | undefined {
    const { key, levels } = this.#lists.get(list) ?? {}
    const own = levels?.get(level)
    if (key === undefined || own === undefined) return undefined
    const before = this.#counts.get(key) ?? []
    const counts = Array.from({ length: level + 1 }, (_, i) => before[i] ?? (levels?.get(i)?.start ?? 1) - (i === level ? 1 : 0))
    counts.push((counts.pop() ?? 0) + 1)
    this.#counts.set(key, counts)
    if (own.format === 'bullet') return own.text.trim() === '' ? undefined : '-'
    if (own.format === 'none') return undefined
    return own.text.replace(/%(\d)/g, (_, digit: string) => {
      const i = Number(digit) - 1
      return numberText(counts.at(i) ?? 1, TYPES.get(levels?.get(i)?.format ?? '') ?? '1')
    })
  }
}

function levelsOf(element: Element): Map<number, Level> {
  const levels = element.children.filter((node): node is Element => 'name' in node && node.name === 'lvl')
  return new Map(
    levels.map((level) => [
      Number(level.attribs.ilvl),
      {
        start: Number(valueOf(childOf(level, 'start')) || 1),
        format: valueOf(childOf(level, 'numFmt')) || 'decimal',
        text: valueOf(childOf(level, 'lvlText')),
      },
    ]),
  )
}

export function valueOf(element: Element | undefined): string {
  return element?.attribs.val ?? ''
}
