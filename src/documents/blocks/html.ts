import { isText, type AnyNode, type Element } from 'domhandler'
import { DomUtils, parseDocument } from 'htmlparser2'
import type { Block, BlockDocument } from './contract.ts'
import { articleOf } from './article.ts'
import { markupBlocks } from './markup/markup.ts'
import { lengths } from './markup/navigation.ts'
import { elementsIn, parseMarkup } from './markup/tidy.ts'
import { textOf } from './markup/text.ts'

const LONGEST_TITLE = 300
/** Minimum share of the page's text, without links, for a main-text candidate. */
const LEAST_SHARE = 0.5
/** Share of the page's text below which a warning says what was read. */
const WARN_BELOW = 0.9
const UNSEEN = new Set(['script', 'style', 'template', 'noscript', 'title', 'svg'])

/**
 * Parses a web page: the element marked as its main text (main, role=main, a single article), else Readability's article, if that is
 * most of the text, else all text. Menus, headers and footers of the page are left out.
 */
export function htmlDocument(source: string): Omit<BlockDocument, 'type'> {
  const { page, blocks } = readPage(source, true)
  const elements = elementsIn(page.children)
  const title = elements.find(({ name }) => name === 'title')
  // A page of nothing but links.
  const read = blocks.length > 0 ? blocks : readPage(source, false).blocks
  return {
    title: title === undefined ? '' : textOf(title.children).slice(0, LONGEST_TITLE),
    blocks: read,
    warnings: shareWarnings(elements, read),
  }
}

function readPage(source: string, withoutMenus: boolean) {
  const page = parseMarkup(source, { withoutMenus })
  const elements = elementsIn(page.children)
  const body: readonly AnyNode[] = elements.find(({ name }) => name === 'body')?.children ?? page.children
  const whole = proseOf(body)
  const isMost = (nodes: readonly AnyNode[]): boolean => nodes.length > 0 && proseOf(nodes) >= LEAST_SHARE * whole
  const marked = markedIn(elements).find(({ children }) => isMost(children))
  if (marked !== undefined) return { page, blocks: markupBlocks(marked.children) }
  const article = articleOf(DomUtils.getOuterHTML(page))
  const found = article === undefined ? [] : parseDocument(article).children
  return { page, blocks: markupBlocks(isMost(found) ? found : body) }
}

/** Elements marked as the page's main text. */
function markedIn(elements: readonly Element[]): Element[] {
  const articles = elements.filter(({ name }) => name === 'article')
  return [...elements.filter(({ name, attribs }) => name === 'main' || attribs.role === 'main'), ...(articles.length === 1 ? articles : [])]
}

function proseOf(nodes: readonly AnyNode[]): number {
  const { characters, links } = lengths(...nodes)
  return characters * (1 - links)
}

function shareWarnings(elements: readonly Element[], blocks: readonly Block[]): string[] {
  const length = (text: string): number => text.replace(/\s+/g, '').length
  const texts = elements.flatMap(({ name, children }) => (UNSEEN.has(name) ? [] : children.filter(isText)))
  const all = texts.reduce((sum, { data }) => sum + length(data), 0)
  const read = blocks.reduce(
    (sum, block) => sum + length('text' in block ? block.text : ('items' in block ? block.items : block.rows).join('')),
    0,
  )
  return read < WARN_BELOW * all
    ? [`${Math.round((100 * read) / all)} % of the page's text was read, without menus, headers, footers and hidden parts.`]
    : []
}
