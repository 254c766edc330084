import { isTag, type AnyNode, type Element } from 'domhandler'
import { parseDocument } from 'htmlparser2'
import { decodeText } from '../text.ts'
import type { BlockDocument } from './contract.ts'
import { articleOf } from './article.ts'
import { markupBlocks } from './markup/markup.ts'
import { rawText, textOf } from './markup/text.ts'

const LONGEST_TITLE = 300
/** Minimum share of the page's text for a main-text candidate. */
const LEAST_SHARE = 0.5
/** Elements removed if a page does not mark its main text. */
const AROUND = new Set(['header', 'footer', 'aside'])

/**
 * Parses a web page: the element marked as its main text (main, role=main, a single article), else Readability's article if that is
 * most of the text, else all text without menus.
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

/** The element marked as main text, if not blank. */
function mainOf(nodes: readonly AnyNode[]): Element | undefined {
  const main = find(nodes, ({ name, attribs }) => name === 'main' || attribs.role === 'main')
  if (main !== undefined && rawText(main.children).trim() !== '') return main
  const articles = all(nodes, ({ name }) => name === 'article')
  return articles.length === 1 && rawText(articles[0]?.children ?? []).trim() !== '' ? articles[0] : undefined
}

/** Removes elements of the given names at any depth. */
function without(nodes: readonly AnyNode[], names: ReadonlySet<string>): readonly AnyNode[] {
  const kept = nodes.filter((node) => !isTag(node) || !names.has(node.name))
  const [only] = kept.filter(isTag)
  // A page in one wrapping element.
  return kept.filter(isTag).length === 1 && only !== undefined && only.name === 'div' ? without(only.children, names) : kept
}

function find(nodes: readonly AnyNode[], wanted: (element: Element) => boolean): Element | undefined {
  return all(nodes, wanted, 1)[0]
}

/** Elements in document order; not recursive, since nesting depth is unbounded. */
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
