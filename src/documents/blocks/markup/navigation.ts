import { isTag, isText, type AnyNode, type Element } from 'domhandler'
import { isLayout, rowsOf } from './table.ts'
import { ancestors, isSkipped, textOf } from './text.ts'

/** Names of menus in classes, ids, roles, labels and summaries. */
const MENU =
  /\bnav(?:header|footer|igation|bar|panel|path)?\b|\bbreadcrumbs?\b|\bpagination\b|\bskip-?(?:link|to-content)s?\b|\bcontentinfo\b/i
/** Names of parts that are menus if they hold little but links. */
const LINKS = /(?:^|[\s_-])(?:toc|toctree-wrapper|contents|menu|side-?bar|related|links|pager|footer|header|list-of-\w+)(?:$|[\s_-])/i
const RELATIONS = /\b(?:prev(?:ious)?|next|up|start|home|contents|index)\b/i
const KEYS = /^[pnuh]$/i
const STEP = /^\W*(?:prev(?:ious)?|next)\b.{0,20}$/i
const NAMED = ['class', 'id', 'role', 'aria-label', 'summary']
const PARTS = new Set(['table', 'div', 'p', 'ul', 'ol', 'dl', 'section', 'center', 'header', 'footer'])
const SECTIONS = new Set(['main', 'article', 'section', 'blockquote', 'figure', 'aside', 'td'])
/** Parts that are menus, also without a name, if they hold nothing but some links. */
const BARE = new Set(['table', 'td', 'center'])
/** They are many in pages of tables. */
const BARE_COST = 0.1
/** Characters of a menu with few links. */
const LONGEST = 400
const LEAST_LINKS = 3
const MOST_ABOVE = 6
/** Parts and links that are looked at in a page. */
const MOST_SEARCHED = 300
const SPACE = 32

/** Turns menus, and headers and footers of the page, into `nav` elements, which are not read. */
export function removeNavigation(elements: readonly Element[]): void {
  let searched = 0
  for (const element of elements) {
    const { name, attribs } = element
    if (searched > MOST_SEARCHED) return
    if (name === 'a') {
      const isRelated = RELATIONS.test(attribs.rel ?? '') || KEYS.test(attribs.accesskey ?? '')
      if (!isRelated && !STEP.test(textOf(element.children))) continue
      searched++
      const menu = menuAround(element, isRelated)
      if (menu !== undefined) menu.name = 'nav'
    } else if ((name === 'header' || name === 'footer') && !isInSection(element)) {
      searched++
      const { headings, links } = lengths(element)
      if (headings === 0 || links > 0.5) element.name = 'nav'
    } else if (PARTS.has(name) && NAMED.some((attribute) => attribs[attribute] !== undefined)) {
      const names = `${attribs.class ?? ''} ${attribs.id ?? ''} ${attribs.role ?? ''}`
      const { 'aria-label': label = '' } = attribs
      const isNamed = MENU.test(`${names} ${label} ${name === 'table' ? (attribs.summary ?? '') : ''}`)
      if (!isNamed && !LINKS.test(names)) continue
      searched++
      const { characters, links } = lengths(element)
      if (links > 0.45 || (isNamed && (links > 0.3 || characters <= LONGEST) && !holdsHeading(element))) element.name = 'nav'
    } else if (BARE.has(name)) {
      searched += BARE_COST
      if (isBareMenu(element)) element.name = 'nav'
    }
  }
}

/** The largest part around a link to the next page that holds little more than such links. */
function menuAround(link: Element, isRelated: boolean): Element | undefined {
  let menu: Element | undefined
  for (const above of ancestors(link, MOST_ABOVE)) {
    if (above.name === 'nav') return undefined
    if (SECTIONS.has(above.name) && above.name !== 'td') break
    const { characters, links } = lengths(above)
    if (characters > LONGEST || holdsHeading(above) || links < 0.25) break
    if (PARTS.has(above.name)) menu = above
  }
  return menu !== undefined && (isRelated || /prev[^]*next|next[^]*prev/i.test(textOf(menu.children))) ? menu : undefined
}

/** Whether a part's words are all in links, and not more than a menu has: a row or column of links, or a cell of a layout. */
function isBareMenu(element: Element): boolean {
  const { characters, anchors, headings, isAllLinks } = lengths(element)
  if (anchors < LEAST_LINKS || !isAllLinks || characters > LONGEST || headings > 0) return false
  const [table] = [element, ...ancestors(element)].filter(({ name }) => name === 'table')
  if (table === undefined || element.name === 'center') return true
  const rows = rowsOf(table)
  return element.name === 'td'
    ? rows.some(({ cells }) => cells.length > 1) && isLayout(table)
    : rows.length === 1 || rows.every(({ cells }) => cells.length < 2)
}

function isInSection(element: Element): boolean {
  return [...ancestors(element)].some(({ name }) => SECTIONS.has(name))
}

function holdsHeading(element: Element): boolean {
  return lengths(element).headings > 0
}

interface Lengths {
  readonly characters: number
  /** Share of the characters in links. */
  readonly links: number
  readonly headings: number
  /** Number of links. */
  readonly anchors: number
  /** Whether there are no words outside of links. */
  readonly isAllLinks: boolean
}

/** What elements hold. */
export function lengths(...nodes: readonly AnyNode[]): Lengths {
  let [characters, linked, headings, links, anchors, isAllLinks] = [0, 0, 0, 0, 0, true]
  // `undefined` ends a link.
  const waiting: (AnyNode | undefined)[] = [...nodes]
  while (waiting.length > 0) {
    const node = waiting.pop()
    if (node === undefined) links--
    else if (isText(node)) {
      const length = letterCount(node.data)
      characters += length
      if (links > 0) linked += length
      else if (isAllLinks && length > 0) isAllLinks = !/[\p{L}\p{N}]/u.test(node.data)
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
  return { characters, links: characters === 0 ? 0 : linked / characters, headings, anchors, isAllLinks }
}

/** Characters that are no spaces. */
export function letterCount(text: string): number {
  let count = 0
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) > SPACE) count++
  return count
}
