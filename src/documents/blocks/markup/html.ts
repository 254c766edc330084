import { isTag, isText, type AnyNode, type Element } from 'domhandler'
import type { ParserOptions } from 'htmlparser2'
import { textsOf, titleText, Unread, type Block, type BlockDocument } from '../contract.ts'
import { markupBlocks } from './markup.ts'
import { lengths, letterCount } from './navigation.ts'
import { parseMarkup, type MarkupOptions, type ParsedMarkup } from './tidy.ts'
import { ancestors, HIDDEN, isHidden, textOf } from './text.ts'

/** Minimum share of the page's text, without links, for a main-text candidate. */
const LEAST_SHARE = 0.5
/** Share of the page's text below which a warning says what was read. */
const WARN_BELOW = 0.9
const UNSEEN = new Set(['script', 'style', 'template', 'noscript', 'title', 'svg'])
/** Of XHTML. */
export const XHTML: ParserOptions = { recognizeSelfClosing: true, recognizeCDATA: true }

/**
 * Parses a web page: the element marked as its main text (main, role=main, a single article), if that is most of the text, else all of it.
 * Menus, headers and footers of the page are left out.
 */
export function htmlDocument(source: string, options: MarkupOptions = /^\s*<\?xml\b/.test(source) ? XHTML : {}): BlockDocument {
  const page = parseMarkup(source, { ...options, withoutMenus: true })
  const isDrawn = ({ name, attribs }: Element): boolean => name === 'svg' || attribs['data-image'] !== undefined
  const title = page.elements.find((one) => one.name === 'title' && ![...ancestors(one)].some(isDrawn))
  const found = mainBlocks(page)
  const unread = new Unread()
  unread.add('texts in drawings', page.elements.filter(({ name, children }) => name === 'text' && children.length > 0).length)
  const isFramed = (one: Element): boolean =>
    /^(?:i?frame|embed|object)$/.test(one.name) && (one.attribs.src ?? one.attribs.data ?? '') !== '' && !isHidden(one)
  unread.add('embedded pages', page.elements.filter(isFramed).length)
  // A page of nothing but links.
  const blocks = found.length > 0 ? found : mainBlocks(parseMarkup(source, options))
  unread.add('hidden texts', hiddenTexts(page.nodes))
  const warnings = [...shareWarnings(page.elements, blocks), ...unread.warnings]
  return { title: title === undefined ? '' : titleText(textOf(title.children)), blocks, warnings }
}

/** Number of parts with text that a page hides. */
export function hiddenTexts(nodes: readonly AnyNode[]): number {
  let found = 0
  const waiting = [...nodes]
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    if (!isTag(node) || UNSEEN.has(node.name) || node.name === 'nav') continue
    const { hidden, style = '' } = node.attribs
    if (hidden === undefined && !HIDDEN.test(style)) for (const child of node.children) waiting.push(child)
    else if (lengths(node.children).characters > 0) found++
  }
  return found
}

function mainBlocks({ nodes, elements }: ParsedMarkup): Block[] {
  const body: readonly AnyNode[] = elements.find(({ name }) => name === 'body')?.children ?? nodes
  const articles = elements.filter(({ name }) => name === 'article')
  const marked = elements.filter(({ name, attribs }) => name === 'main' || attribs.role === 'main')
  const candidates = [...marked, ...(articles.length === 1 ? articles : [])].filter(({ children }) => children.length > 0)
  const least = candidates.length === 0 ? 0 : LEAST_SHARE * proseOf(body)
  return markupBlocks(candidates.find(({ children }) => proseOf(children) >= least)?.children ?? body)
}

function proseOf(nodes: readonly AnyNode[]): number {
  const { characters, links } = lengths(nodes)
  return characters * (1 - links)
}

function shareWarnings(elements: readonly Element[], blocks: readonly Block[]): string[] {
  let [all, read] = [0, 0]
  for (const { name, children } of elements)
    if (!UNSEEN.has(name)) for (const node of children) if (isText(node)) all += letterCount(node.data)
  for (const block of blocks) for (const text of textsOf(block)) read += letterCount(text)
  return read < WARN_BELOW * all
    ? [`${Math.round((100 * read) / all)} % of the page's text was read, without menus, headers, footers and hidden parts.`]
    : []
}
