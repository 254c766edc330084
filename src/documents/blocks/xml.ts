import { isText, type Document, type Element } from 'domhandler'
import { parseDocument } from 'htmlparser2'
import { inline } from './contract.ts'
import { elementsIn } from './markup/tidy.ts'

const LONGEST_TEXT = 300

/** Parses XML; names of elements and attributes lose their namespace prefixes. Entities of a DTD are not resolved. */
export function parseXml(xml: string): Document {
  const document = parseDocument(xml, { xmlMode: true })
  for (const element of elementsIn(document.children)) {
    element.name = localName(element.name)
    element.attribs = Object.fromEntries(Object.entries(element.attribs).map(([name, value]) => [localName(name), value]))
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
  const inside = elementsIn(first === undefined ? [] : [first]).flatMap(({ children }) => children.filter(isText))
  return inline(inside.map(({ data }) => data).join('')).slice(0, LONGEST_TEXT)
}

function localName(name: string): string {
  return name.slice(name.indexOf(':') + 1)
}
