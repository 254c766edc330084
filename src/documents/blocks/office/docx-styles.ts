import type { Element } from 'domhandler'
import { childOf, elementsOf } from '../xml.ts'
import { valueOf } from './docx-numbering.ts'

/** What a paragraph is by its style and its own properties. */
export interface ParagraphKind {
  /** 1 to 6; absent of text. */
  readonly heading?: number
  readonly isCode: boolean
  /** An entry of a table of contents. */
  readonly isContents: boolean
  readonly list?: { readonly id: string; readonly level: number }
}

const CODE = /^(?:source code|html preformatted|preformatted text|code)$/i
const CONTENTS = /^(?:toc \d|table of figures|contents \d)/i
const MOST_LEVELS = 6
const MOST_BASES = 20

/** Styles of a document. */
export class Styles {
  readonly #styles: ReadonlyMap<string, Element>

  /** @param xml the part styles.xml */
  constructor(xml: string) {
    this.#styles = new Map(elementsOf(xml, 'style').map((style) => [style.attribs.styleId ?? '', style]))
  }

  nameOf(id: string): string {
    return valueOf(childOf(this.#styles.get(id), 'name'))
  }

  kindOf(properties: Element | undefined): ParagraphKind {
    const chain = this.#chain(valueOf(childOf(properties, 'pStyle')))
    const all = [properties, ...chain.map((style) => childOf(style, 'pPr'))]
    const names = chain.map((style) => valueOf(childOf(style, 'name')))
    const outline = all.map((one) => childOf(one, 'outlineLvl')).find((one) => one !== undefined)
    const named = names.map((name) => (/^title$/i.test(name) ? 1 : Number(/^heading (\d)$/i.exec(name)?.[1]))).find((level) => level >= 1)
    const level = named ?? (outline === undefined ? 9 : Number(valueOf(outline))) + (named === undefined ? 1 : 0)
    const numbers = all.map((one) => childOf(one, 'numPr'))
    const id = numbers.map((one) => childOf(one, 'numId')).find((one) => one !== undefined)
    const depth = numbers.map((one) => childOf(one, 'ilvl')).find((one) => one !== undefined)
    return {
      ...(level <= 9 && { heading: Math.min(level, MOST_LEVELS) }),
      isCode: names.some((name) => CODE.test(name)),
      isContents: names.some((name) => CONTENTS.test(name)),
      ...(id !== undefined && { list: { id: valueOf(id), level: Number(valueOf(depth) || 0) } }),
    }
  }

  /** A style and those it is based on. */
  #chain(id: string): Element[] {
    const chain: Element[] = []
    for (
      let style = this.#styles.get(id);
      style !== undefined && chain.length < MOST_BASES;
      style = this.#styles.get(valueOf(childOf(style, 'basedOn')))
    )
      chain.push(style)
    return chain
  }
}
