import { isTag, type AnyNode, type Element } from 'domhandler'
import { parseDocument } from 'htmlparser2'
import { decodeText } from '../text.ts'
import type { BlockDocument } from './contract.ts'
import { articleOf } from './article.ts'
import { markupBlocks } from './markup.ts'
import { rawText, textOf } from './markup-text.ts'

const LONGEST_TITLE = 300
/** Of the page's text: a smaller part is not taken for its main text. */
const LEAST_SHARE = 0.5
/** What stands around the text where a page does not mark it. */
const AROUND = new Set(['header', 'footer', 'aside'])

/**
 * A web page: the element that it marks as its main text (main, role=main, a single article), else what Readability takes for the
 * article where that is most of the text, else all of it, without menus.
 */
export function htmlDocument(bytes: Uint8Array, mediaType: string | undefined): BlockDocument {
  const source = decodeText(bytes, { isHtml: true, ...(mediaType !== undefined && { mediaType }) })
  const { children } = parseDocument(source)
  const title = titleOf(children)
  const marked = mainOf(children)
  if (marked !== undefined) return { type: 'html', title, blocks: markupBlocks(marked.children) }
  const body = without(bodyOf(children), AROUND)
  const article = articleOf(source)
  const found = article === undefined ? [] : parseDocument(article).children
  const isMost = textOf(found).length >= LEAST_SHARE * textOf(body).length
  return { type: 'html', title, blocks: markupBlocks(isMost && found.length > 0 ? found : body) }
}

function titleOf(nodes: readonly AnyNode[]): string {
  const title = find(nodes, ({ name }) => name === 'title')
  return title === undefined ? '' : textOf(title.children).slice(0, LONGEST_TITLE)
}

function bodyOf(nodes: readonly AnyNode[]): readonly AnyNode[] {
  return find(nodes, ({ name }) => name === 'body')?.children ?? nodes
}

/** The element that the page says holds its text, where that has any. */
function mainOf(nodes: readonly AnyNode[]): Element | undefined {
  const main = find(nodes, ({ name, attribs }) => name === 'main' || attribs.role === 'main')
  if (main !== undefined && rawText(main.children).trim() !== '') return main
  const articles = all(nodes, ({ name }) => name === 'article')
  return articles.length === 1 && rawText(articles[0]?.children ?? []).trim() !== '' ? articles[0] : undefined
}

/** Nodes without elements of some names, at any depth above the text. */
function without(nodes: readonly AnyNode[], names: ReadonlySet<string>): readonly AnyNode[] {
  const kept = nodes.filter((node) => !isTag(node) || !names.has(node.name))
  const [only] = kept.filter(isTag)
  // A page in one wrapping element.
  return kept.filter(isTag).length === 1 && only !== undefined && only.name === 'div' ? without(only.children, names) : kept
}

function find(nodes: readonly AnyNode[], wanted: (element: Element) => boolean): Element | undefined {
  return all(nodes, wanted, 1)[0]
}

/** Elements in their order; not by recursion, since pages may be nested as deep as they like. */
function all(nodes: readonly AnyNode[], wanted: (element: Element) => boolean, most = Infinity): Element[] {
  const found: Element[] = []
  const waiting = [...nodes].reverse()
  for (let node = waiting.pop(); node !== undefined && found.length < most; node = waiting.pop()) {
    if (!isTag(node)) continue
    if (wanted(node)) found.push(node)
    for (const child of node.children.toReversed()) waiting.push(child)
  }
  return found
}
