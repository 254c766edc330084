import { isTag, type AnyNode, type Element } from 'domhandler'
import { parseDocument } from 'htmlparser2'
import { textOf } from './markup/text.ts'

/** Elements with a qualified name, in document order. Entities are not resolved. */
export function elementsOf(xml: string, name: string): Element[] {
  const found: Element[] = []
  const waiting: AnyNode[] = [...parseDocument(xml, { xmlMode: true }).children].reverse()
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    if (!isTag(node)) continue
    if (node.name === name) found.push(node)
    for (const child of node.children.toReversed()) waiting.push(child)
  }
  return found
}

/** Text of the first element with a name; empty without one. */
export function elementText(xml: string, name: string): string {
  return textOf(elementsOf(xml, name)[0]?.children ?? []).slice(0, 300)
}
