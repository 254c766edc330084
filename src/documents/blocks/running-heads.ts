import { at } from '../../../base/at.ts'
import { inline } from './contract.ts'
import { romanValue } from './markup/list.ts'
import { placesIn } from './markup/printed-tables.ts'
import { mostOf, type Line } from './pdf-lines.ts'

/** Lines at a page's edges that can be running heads. */
const EDGE_LINES = 2
/** Minimum number and share of pages on which a running head repeats. */
const LEAST_PAGES = 3
const RUNNING_SHARE = 0.5
/** Share of the pages in succession, left or right ones at least. */
const SECTION_SHARE = 0.4
/** Beginnings of the keys of equal lines. */
const [SEPARATE, OUTER] = ['=', '|']
/** Distance from the page's text, in distances of its lines. */
const APART_GAP = 1.5
/** The names of a table's columns: their distance from its rows at most, in heights of letters, and the lines below that may be these. */
const TABLE = { gap: 4, lines: 8 }
/** Words that may be next to the number of a page. */
const PAGE_WORDS =
  /^(?:p|pp|pg|page|seite|s|blatt|p\u00e1gina|pag|p\u00e1g|pagina|side|sida|sid|sivu|strona|str|strana|oldal|sayfa|\u0441\u0442\u0440|\u0441\u0442\u0440\u0430\u043d\u0438\u0446\u0430|of|von|de|sur|di|van|av|af|z|ze|iz|\u0438\u0437|\u7b2c|\u9875|\u9801|\u30da\u30fc\u30b8|\u5171|\ucabd)$/iu
/** What sets a page's number apart from words of the same line. */
const APART = /[\t|\u2013\u2014\u00b7\u2022]/
/** Before a number that is the line's content: "Invoice no. 3", "Sum: 3". */
const LABEL = /(?:[:#\u2116]|\bn[or]\.?)\s*$/iu
const PLACE = '\ue000'
/** The number of pages after a page's number. */
const TOTAL = /\ue000\s*(?:\/|\p{L}+)\s*[1-9]\d*/u
const LONGEST_NUMBER = 6

/**
 * Finds running heads: lines at the edges of pages that are equal and stand apart, or differ in a number that rises by one with each page
 * and is alone, apart from the words, or next to a word for pages. They are on most pages, or on most of some pages in succession: there
 * the first of equal lines is kept, for it may be a title.
 * @returns the lines
 */
export function runningHeads(pages: readonly (readonly Line[])[]): ReadonlySet<Line> {
  const groups = new Map<string, readonly Line[]>()
  const leading = leadingOf(pages)
  for (const page of pages)
    for (const edge of edgesOf(page))
      for (const key of new Set([...textKeys(edge, leading), ...numberKeys(edge.line, pages.length)]))
        groups.set(key, [...(groups.get(key) ?? []), edge.line])
  const runningOf = pages.length < LEAST_PAGES ? runningOfTwo : runningOfMany
  return new Set([...groups].flatMap(([key, lines]) => runningOf(key, lines, pages)))
}

/** Of two pages: lines at one place that are not larger than the text. One of equal ones is kept, not between the texts of both pages. */
function runningOfTwo(key: string, [first, second, ...others]: readonly Line[], pages: readonly (readonly Line[])[]): readonly Line[] {
  if (first === undefined || second === undefined || others.length > 0 || first.page === second.page) return []
  const isAtOnePlace = Math.abs(first.base - second.base) < 1 && Math.abs(first.height - second.height) < 1
  if (!isAtOnePlace || first.height > mostOf(pages.flat().map(({ height, text }) => [Math.round(height), text.length])) + 1) return []
  const isHead = pages[0]?.slice(0, EDGE_LINES).includes(first)
  return /^[=|]/.test(key) ? [isHead ? second : first] : key.startsWith('0 ') ? [first, second] : []
}

function runningOfMany(key: string, lines: readonly Line[], { length: pages }: readonly (readonly Line[])[]): readonly Line[] {
  const numbers = lines.map(({ page }) => page)
  const count = new Set(numbers).size
  if (count < LEAST_PAGES) return []
  if (count >= pages * RUNNING_SHARE) return lines
  const isDense = count >= SECTION_SHARE * (Math.max(...numbers) - Math.min(...numbers) + 1)
  if (!isDense || key.startsWith(OUTER)) return []
  return key.startsWith(SEPARATE) ? lines.slice(1) : lines
}

/** Lines at the edges of a page, with the distance to the next line inwards; 0 without one. */
function edgesOf(page: readonly Line[]) {
  return page.flatMap((line, i) => {
    const fromEnd = page.length - 1 - i
    const depth = Math.min(i, fromEnd)
    if (depth >= EDGE_LINES) return []
    const inner = page[i < fromEnd ? i + 1 : i - 1]
    const below = page.slice(i + 1, i + 1 + TABLE.lines)
    return [{ line, gap: inner === undefined ? 0 : Math.abs(inner.base - line.base), isOuter: depth === 0, below }]
  })
}

/** The line itself, if it is no content. The last line of a bill may be the same on all pages, and the names of a table's columns. */
function textKeys({ line, gap, isOuter, below }: ReturnType<typeof edgesOf>[number], leading: number): string[] {
  if (gap < TABLE.gap * line.height && namesColumns(line, below)) return []
  const isSeparate = gap > APART_GAP * leading
  const text = inline(line.text)
  return [...(isSeparate ? [SEPARATE + text] : []), ...(isSeparate || (isOuter && !/[\d\t]|[.!?]$/.test(line.text)) ? [OUTER + text] : [])]
}

/** Whether there are cells below each part of a line, which are below no other part. */
function namesColumns({ cells = [] }: Line, below: readonly Line[]): boolean {
  const places = below.flatMap((line) => (line.cells ?? []).map((cell) => placesIn(cells, [cell])?.[0]))
  return cells.length > 2 && cells.every((_, i) => places.includes(i))
}

/** Distance of lines of a paragraph, in points: the lower quartile of all. */
function leadingOf(pages: readonly (readonly Line[])[]): number {
  const distances = pages.flatMap((page) => page.slice(1).map(({ base }, i) => Math.abs(base - (page[i]?.base ?? base))))
  const sorted = distances.filter((distance) => distance > 1).sort((a, b) => a - b)
  return sorted.length === 0 ? 0 : at(sorted, Math.floor(sorted.length / 4))
}

/** The line without each number that can be its page's, with the distance of both. */
function numberKeys({ text, page }: Line, pages: number): string[] {
  const keys: string[] = []
  for (const { 0: number, index } of text.matchAll(/\d+/g)) {
    const before = text.slice(0, index)
    const rest = before + PLACE + text.slice(index + number.length)
    // "Manual 3 / 12": pages before the first one may have no number.
    const total = Number(/\ue000\s*\/\s*(\d+)/u.exec(rest)?.[1])
    const isCounted = Number(number) <= total && total <= pages
    const isApart = Number(number) <= page && !LABEL.test(before) && rest.split(APART).some((part) => part.includes(PLACE) && isAlone(part))
    if (number.length <= LONGEST_NUMBER && (isCounted || isAlone(rest) || isApart)) keys.push(`${Number(number) - page} ${inline(rest)}`)
  }
  const roman = romanValue(text)
  return roman === undefined ? keys : [...keys, `${roman - page} roman`]
}

/** Whether there are no other words and numbers than "page 3 of 12" has. */
function isAlone(rest: string): boolean {
  const words = rest.match(/\p{L}+/gu) ?? []
  return /^[\p{L}\s\p{Pd}()[\]./|:\u00b7\u2022\ue000]*$/u.test(rest.replace(TOTAL, PLACE)) && words.every((word) => PAGE_WORDS.test(word))
}
