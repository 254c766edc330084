import { Element, isTag, isText, Text, type AnyNode, type ChildNode, type Document } from 'domhandler'
import { DomUtils } from 'htmlparser2'
import { inline, titleText } from '../contract.ts'
import { localName } from './math.ts'
import { elementsIn, parsed } from './tidy.ts'

/** Levels of nested lists. */
const MOST_LEVELS = 9

/** Parses XML. Names lose their namespace prefixes, unless another attribute has that name. Entities of a DTD are not resolved. */
export function parseXml(xml: string): Document {
  const document = parsed(xml, { xmlMode: true })
  for (const element of elementsIn(document.children)) {
    element.name = localName(element.name)
    const attributes = Object.entries(element.attribs)
    element.attribs = Object.fromEntries(
      attributes.map(([name, value]) => [element.attribs[localName(name)] === undefined ? localName(name) : name, value]),
    )
  }
  return document
}

/** Elements with a local name, in document order. */
export function elementsOf(xml: string, name: string): Element[] {
  return elementsIn(parseXml(xml).children).filter((element) => element.name === name)
}

/** Text of the first element with a local name; empty without one. */
export function elementText(xml: string, name: string): string {
  const [first] = elementsOf(xml, name)
  return titleText(inline(textIn(first === undefined ? [] : [first])))
}

export function textIn(nodes: readonly AnyNode[]): string {
  return elementsIn(nodes)
    .flatMap(({ children }) => children.filter(isText))
    .map(({ data }) => data)
    .join('')
}

export function childOf(element: Element | undefined, name: string): Element | undefined {
  return childrenOf(element, name)[0]
}

export function childrenOf(element: Element | undefined, name: string): Element[] {
  return element?.children.filter((node): node is Element => isTag(node) && node.name === name) ?? []
}

/** Makes an element of HTML, for `markupBlocks`. */
export function made(name: string, children: readonly (ChildNode | string)[], attribs: Record<string, string> = {}): Element {
  const element = new Element(name, attribs, [])
  for (const child of children) DomUtils.appendChild(element, typeof child === 'string' ? new Text(child) : child)
  return element
}

/** An item in so many lists. */
export function nested(item: Element, level: number): Element {
  let node = item
  for (let i = 0; i < Math.min(level, MOST_LEVELS); i++) node = made('ul', [node])
  return node
}
