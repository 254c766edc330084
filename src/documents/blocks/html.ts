import { Readability } from '@mozilla/readability'
import { isText, type AnyNode, type Element } from 'domhandler'
import { DomUtils } from 'htmlparser2'
import { parseHTML } from 'linkedom'
import { textsOf, type Block, type BlockDocument } from './contract.ts'
import { markupBlocks } from './markup/markup.ts'
import { lengths, letterCount } from './markup/navigation.ts'
import { parseMarkup, type ParsedMarkup } from './markup/tidy.ts'
import { textOf } from './markup/text.ts'

const LONGEST_TITLE = 300
/** Maximum elements of a page for Readability, since time grows superlinearly. */
const MOST_ELEMENTS = 20_000
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
  const page = parseMarkup(source, { withoutMenus: true })
  const title = page.elements.find(({ name }) => name === 'title')
  const found = mainBlocks(page, source)
  // A page of nothing but links.
  const blocks = found.length > 0 ? found : mainBlocks(parseMarkup(source), source)
  return {
    title: title === undefined ? '' : textOf(title.children).slice(0, LONGEST_TITLE),
    blocks,
    warnings: shareWarnings(page.elements, blocks),
  }
}

function mainBlocks({ nodes, elements, opens }: ParsedMarkup, source: string): Block[] {
  const body: readonly AnyNode[] = elements.find(({ name }) => name === 'body')?.children ?? nodes
  const whole = proseOf(body)
  const isMost = (some: readonly AnyNode[]): boolean => some.length > 0 && proseOf(some) >= LEAST_SHARE * whole
  const marked = markedIn(elements).find(({ children }) => isMost(children))
  if (marked !== undefined) return markupBlocks(marked.children)
  const article = elements.length > MOST_ELEMENTS ? undefined : articleOf(opens ? DomUtils.getOuterHTML(nodes) : source)
  const found = article === undefined ? [] : parseMarkup(article, { withoutMenus: true }).nodes
  return markupBlocks(isMost(found) ? found : body)
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
  const texts = elements.flatMap(({ name, children }) => (UNSEEN.has(name) ? [] : children.filter(isText)))
  const all = texts.reduce((sum, { data }) => sum + letterCount(data), 0)
  const read = blocks.reduce((sum, block) => sum + letterCount(textsOf(block).join('')), 0)
  return read < WARN_BELOW * all
    ? [`${Math.round((100 * read) / all)} % of the page's text was read, without menus, headers, footers and hidden parts.`]
    : []
}

/** HTML of the article found by Readability; undefined without one. */
function articleOf(source: string): string | undefined {
  try {
    const window: unknown = parseHTML(source)
    if (typeof window !== 'object' || window === null || !('document' in window)) return undefined
    const { content } = new Readability<string>(window.document, { maxElemsToParse: MOST_ELEMENTS, keepClasses: true }).parse() ?? {}
    return content ?? undefined
  } catch {
    // Too many elements, or a page that breaks either library: use the full text.
    return undefined
  }
}
