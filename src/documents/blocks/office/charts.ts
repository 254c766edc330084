import type { Element } from 'domhandler'
import { elementsIn } from '../markup/tidy.ts'
import { childOf, childrenOf, made, parseXml, textIn } from '../markup/xml.ts'
import { isOn } from './parts.ts'
import { MACINTOSH_DAYS, shownNumber } from './xlsx.ts'

/** The values that a chart stores, by series, below its titles: a table for all series of the same categories. None without values. */
export function chartNodes(xml: string): Element[] {
  const elements = elementsIn(parseXml(xml).children)
  const days = isOn(elements.find(({ name }) => name === 'date1904')) ? MACINTOSH_DAYS : 0
  const tables = new Map<string, { readonly labels: Points; readonly series: { readonly name: string; readonly values: Points }[] }>()
  for (const one of elements.filter(({ name }) => name === 'ser')) {
    const labels = pointsOf(childOf(one, 'cat') ?? childOf(one, 'xVal'), days)
    const values = pointsOf(childOf(one, 'val') ?? childOf(one, 'yVal'), days)
    const key = JSON.stringify([...labels])
    const { series } = tables.get(key) ?? { series: [] }
    if (values.size > 0) tables.set(key, { labels, series: [...series, { name: saidIn(childOf(one, 'tx')), values }] })
  }
  const titles = elements.filter(({ name }) => name === 'title').map((title) => made('p', [saidIn(title)]))
  const row = (texts: readonly string[]): Element =>
    made(
      'tr',
      texts.map((text) => made('td', [text])),
    )
  const shown = Array.from(tables.values(), ({ labels, series }) => {
    const all = [labels, ...series.map(({ values }) => values)]
    const places = [...new Set(all.flatMap((points) => [...points.keys()]))].sort((a, b) => a - b)
    const rows = places.map((place) => row(all.map((points) => points.get(place) ?? '')))
    return made('table', [made('thead', [row(['', ...series.map(({ name }) => name)])]), ...rows])
  })
  return shown.length === 0 ? [] : [...titles, ...shown]
}

/** Texts by their places. */
type Points = ReadonlyMap<number, string>

/** The stored texts or numbers of a series; categories in groups follow the names of these. @param days to add to dates */
function pointsOf(element: Element | undefined, days: number): Points {
  const store = elementsIn(element === undefined ? [] : [element]).find(({ name }) => /(?:Cache|Lit)$/.test(name))
  const format = textIn(childrenOf(store, 'formatCode')) || 'General'
  const isNumber = store?.name.startsWith('num') === true
  const textOf = (point: Element): string => {
    const text = textIn(childrenOf(point, 'v'))
    return isNumber && Number.isFinite(Number(text)) ? shownNumber(Number(text), point.attribs.formatCode ?? format, days) : text
  }
  const levels = childrenOf(store, 'lvl')
  const [inner = [], ...outer] = (store === undefined || levels.length > 0 ? levels : [store]).map((level) =>
    childrenOf(level, 'pt').map((point) => ({ place: Number(point.attribs.idx), text: textOf(point) })),
  )
  const groupsAt = (place: number): string[] =>
    outer.toReversed().flatMap((level) => level.findLast((one) => one.place <= place)?.text ?? [])
  return new Map(inner.map(({ place, text }) => [place, [...groupsAt(place), text].join(' ')]))
}

/** The text of a title or a name, without the address of its cell. */
function saidIn(element: Element | undefined): string {
  return elementsIn(element === undefined ? [] : [element])
    .flatMap((one) => (one.name === 'p' ? ' ' : one.name === 't' || one.name === 'v' ? textIn([one]) : []))
    .join('')
    .trim()
}
