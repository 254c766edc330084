import { isTag, isText, type AnyNode, type Element } from 'domhandler'
import { DomUtils } from 'htmlparser2'
import { isLayout, rowsOf } from './table.ts'
import { ancestors, isSkipped, textOf } from './text.ts'

/** Names of menus in classes, ids, roles, labels and summaries. */
const MENU =
  /\bnav(?:header|footer|igation|bar|panel|path)?\b|\bbreadcrumbs?\b|\bpagination\b|\bskip-?(?:link|to-content)s?\b|\bcontentinfo\b/i
/** Names of parts that are menus if they hold little but links. */
const LINKS = /(?:^|[\s_-])(?:toc|toctree-wrapper|contents|menu|side-?bar|related|links|pager|footer|header|list-of-\w+)(?:$|[\s_-])/i
const FOOTER = /^(?:page-?|site-?)?footer$/i
const RELATIONS = /\b(?:prev(?:ious)?|next|up|start|home|contents|index)\b/i
const KEYS = /^[pnuh]$/i
/** Links to the top of the page. */
const TOP = /^\W*(?:(?:back|go|return)\s)?(?:to\s)?(?:the\s)?top(?:\sof\s(?:the\s)?page)?\W*$/i
const STEP = /^\W*(?:prev(?:ious)?|next)\b.{0,20}$/i
const STEPS = /(?:prev|contents|\btop\b)[^]*next|next[^]*(?:prev|contents|\btop\b)/i
const NAMED = ['class', 'id', 'role', 'aria-label', 'summary']
const PARTS = new Set(['table', 'div', 'p', 'ul', 'ol', 'dl', 'section', 'center', 'header', 'footer'])
const SECTIONS = new Set(['main', 'article', 'section', 'blockquote', 'figure', 'aside', 'td'])
/** Parts that are menus, also without a name, if they hold nothing but some links. */
const BARE = new Set(['table', 'td', 'center'])
/** Characters of a menu with few links. */
const LONGEST = 400
const LEAST_LINKS = 3
const MOST_ABOVE = 6
/** Nodes that are looked at, for each element of a page. */
const MOST_VISITED = 30
/** Share of a list's links that repeat headings of its page, from which it is a table of contents. */
const CONTENTS = 0.75
const SPACE = 32

/** Turns menus, headers and footers of the page, and lists of its own headings into `nav` elements, which are not read. */
export function removeNavigation(elements: readonly Element[]): void {
  let left = MOST_VISITED * elements.length
  const look: Look = (element) => {
    const found = lengths([element])
    left -= found.visited
    return found
  }
  const headings = new Set(elements.flatMap(({ name, children }) => (/^h[1-6]$/.test(name) ? [unnumbered(textOf(children))] : [])))
  for (const element of elements) {
    const { name, attribs } = element
    if (left < 0) return
    if (name === 'a') {
      for (const menu of linkMenus(element, look)) menu.name = 'nav'
    } else if (
      isBareMenu(element, look) ||
      isAround(element, look) ||
      ((name === 'ul' || name === 'ol') && repeatsHeadings(element, headings, look)) ||
      (PARTS.has(name) && NAMED.some((attribute) => attribs[attribute] !== undefined) && isNamedMenu(element, look))
    )
      element.name = 'nav'
  }
}

type Look = (element: Element) => ReturnType<typeof lengths>

/** The menu around a link to another page, or to the top; else the links of a row of such. */
function linkMenus(link: Element, look: Look): readonly Element[] {
  const { rel = '', accesskey = '', hreflang, href = '' } = link.attribs
  const isRelated = RELATIONS.test(rel) || KEYS.test(accesskey) || (hreflang !== undefined && /\balternate\b/i.test(rel))
  const shown = shownIn(link)
  const isTop = href.startsWith('#') && TOP.test(shown)
  if (!isTop && !isRelated && !STEP.test(shown)) return []
  const menu = isTop ? topAround(link) : menuAround(link, isRelated, look)
  if (menu !== undefined) return [menu]
  const row: Element[] = []
  for (let node: AnyNode | null = link; node !== null && row.length < MOST_ABOVE; node = node.next)
    if (isTag(node) && node.name === 'a') row.push(node)
    else if (!isText(node) || /[\p{L}\p{N}]/u.test(node.data)) break
  return STEPS.test(row.map(shownIn).join(' ')) ? row : []
}

/** Whether it is a header or footer of the page. */
function isAround(element: Element, look: Look): boolean {
  const { name, attribs } = element
  if (name !== 'header' && name !== 'footer' && !(name === 'div' && FOOTER.test(attribs.id ?? ''))) return false
  const { headings, links } = look(element)
  return (headings === 0 || links > 0.5) && ![...ancestors(element)].some((above) => SECTIONS.has(above.name))
}

function isNamedMenu(element: Element, look: Look): boolean {
  const { name, attribs } = element
  const { 'aria-label': label = '', class: names = '', id = '', role = '', summary = '' } = attribs
  const isNamed = MENU.test(`${names} ${id} ${role} ${label} ${name === 'table' ? summary : ''}`)
  if (!isNamed && !LINKS.test(`${names} ${id} ${role}`)) return false
  const { characters, links, headings } = look(element)
  return links > 0.45 || (isNamed && (links > 0.3 || characters <= LONGEST) && headings === 0)
}

/** Whether a list holds nothing but links to headings of its page, by their texts. */
function repeatsHeadings(list: Element, headings: ReadonlySet<string>, look: Look): boolean {
  if (headings.size < LEAST_LINKS) return false
  const { anchors, isAllLinks } = look(list)
  if (!isAllLinks || anchors < LEAST_LINKS) return false
  const links = DomUtils.getElementsByTagName('a', list.children, true)
  const repeated = links.filter(({ attribs, children }) => attribs.href?.startsWith('#') && headings.has(unnumbered(textOf(children))))
  return repeated.length >= CONTENTS * anchors
}

/** A heading without its number. */
function unnumbered(text: string): string {
  return text.replace(/^(?:(?:chapter|section|appendix)\s)?(?:\d{1,3}|[A-Z])?(?:\.\d+)*[.:)]*\s+/i, '').toLowerCase()
}

/** The largest part around a link to the next page that holds little more than such links. */
function menuAround(link: Element, isRelated: boolean, look: Look): Element | undefined {
  let menu: Element | undefined
  for (const above of ancestors(link, MOST_ABOVE)) {
    if (above.name === 'nav') return undefined
    if (SECTIONS.has(above.name) && above.name !== 'td') break
    const { characters, links, headings } = look(above)
    if (characters > LONGEST || headings > 0 || (characters > 0 && links < 0.25)) break
    if (PARTS.has(above.name)) menu = above
  }
  return menu !== undefined && (isRelated || STEPS.test(shownIn(menu))) ? menu : undefined
}

/**
 * Whether a part's words are all in links, and not more than a menu has: a row of links with marks between them or of letters, a row or
 * column of a table, or a cell of a layout.
 */
function isBareMenu(element: Element, look: Look): boolean {
  const { name, children } = element
  const isLine = name === 'p' || (name === 'div' && children.some((node) => isTag(node) && node.name === 'a'))
  if (!isLine && !BARE.has(name)) return false
  const { characters, anchors, headings, isAllLinks, isSeparated } = look(element)
  if (!isAllLinks || characters > LONGEST || headings > 0) return false
  if (isLine) return anchors > 1 && (isSeparated || characters <= 2 * anchors)
  if (anchors < LEAST_LINKS) return false
  const table = [element, ...ancestors(element)].find((above) => above.name === 'table')
  if (table === undefined || name === 'center') return true
  const rows = rowsOf(table)
  return name === 'td'
    ? rows.some(({ cells }) => cells.length > 1) && isLayout(table)
    : rows.length === 1 || rows.every(({ cells }) => cells.length < 2)
}

/** The largest part that holds nothing but a link to the top of the page. */
function topAround(link: Element): Element | undefined {
  let part: Element | undefined
  for (const above of ancestors(link, MOST_ABOVE)) {
    if (above.children.length > MOST_ABOVE || !TOP.test(shownIn(above))) break
    part = above
  }
  return part
}

/** Text, and alternative texts of images, which are not yet rewritten. */
function shownIn({ children }: Element): string {
  const images = DomUtils.getElementsByTagName('img', children, true)
  return [textOf(children), ...images.map(({ attribs }) => attribs.alt ?? '')].join(' ').trim()
}

/**
 * What is in nodes: characters, headings and links (`anchors`), the share of the characters in links, whether there are no words outside of
 * links, whether marks of a path or a menu separate them, and the number of nodes visited.
 */
export function lengths(nodes: readonly AnyNode[]) {
  let [characters, linked, headings, links, anchors, visited, isAllLinks, isSeparated] = [0, 0, 0, 0, 0, 0, true, false]
  // `undefined` ends a link.
  const waiting: (AnyNode | undefined)[] = [...nodes]
  while (waiting.length > 0) {
    const node = waiting.pop()
    visited++
    if (node === undefined) links--
    else if (isText(node)) {
      const length = letterCount(node.data)
      characters += length
      if (links > 0) linked += length
      else if (isAllLinks && length > 0) {
        isAllLinks = !/[\p{L}\p{N}]/u.test(node.data)
        isSeparated ||= /[|>\u00bb\u203a]/.test(node.data)
      }
    } else if (isTag(node) && !isSkipped(node)) {
      if (/^h[1-6]$/.test(node.name)) headings++
      if (node.name === 'a') {
        links++
        anchors++
        waiting.push(undefined)
      }
      for (const child of node.children) waiting.push(child)
    }
  }
  return { characters, links: characters === 0 ? 0 : linked / characters, headings, anchors, isAllLinks, isSeparated, visited }
}

/** Characters that are no spaces. */
export function letterCount(text: string): number {
  let count = 0
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) > SPACE) count++
  return count
}
