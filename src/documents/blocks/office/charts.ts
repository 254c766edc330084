import type { Element } from 'domhandler'
import { elementsIn } from '../markup/tidy.ts'
import { childOf, childrenOf, made, parseXml, textIn } from '../markup/xml.ts'
import type { ZipDocument } from '../zip.ts'
import { isOn, partText, relatedParts, valueOf } from './parts.ts'
import { MACINTOSH_DAYS, shownNumber } from './xlsx.ts'

/** The XML of a chart, and of the shapes that are drawn on it. */
export async function chartXml(zip: ZipDocument, part: string): Promise<string> {
  const drawn = (await relatedParts(zip, part)).filter(({ type }) => type === 'chartUserShapes')
  return (await Promise.all([part, ...drawn.map((one) => one.part)].map((one) => partText(zip, one)))).join('')
}

/** The values that a chart stores, by series, below its titles: a table for all series of the same categories. None without values. */
export function chartNodes(xml: string): Element[] {
  const elements = elementsIn(parseXml(xml).children)
  const days = isOn(elements.find(({ name }) => name === 'date1904')) ? MACINTOSH_DAYS : 0
  const tables = new Map<string, { readonly labels: Points; readonly series: { readonly name: string; readonly values: Points }[] }>()
  for (const one of elements.filter(({ name }) => name === 'ser')) {
    const labels = pointsOf(childOf(one, 'cat') ?? childOf(one, 'xVal'), days)
    const values = withLabels(pointsOf(childOf(one, 'val') ?? childOf(one, 'yVal'), days), one)
    const sizes = pointsOf(childOf(one, 'bubbleSize'), days)
    const key = JSON.stringify([...labels])
    const { series } = tables.get(key) ?? { series: [] }
    const own = [{ name: saidIn(childOf(one, 'tx')), values }, ...(sizes.size > 0 ? [{ name: '', values: sizes }] : [])]
    if (values.size > 0) tables.set(key, { labels, series: [...series, ...own] })
  }
  const titles = elements.filter(({ name }) => name === 'title' || name === 'txBody').map((title) => made('p', [saidIn(title)]))
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

/** The values of a series, each with the label that was typed for it, or that a cell has. */
function withLabels(values: Points, series: Element): Points {
  const shown = new Map(values)
  const all = elementsIn([series])
  // Fields in a label stand for names and values that the table has.
  for (const one of all) if (one.name === 'fld' && /^[A-Z]{5,}$/.test(one.attribs.type ?? '')) one.children = []
  const own = all.filter(({ name }) => name === 'dLbl')
  const typed = own.map((one) => [Number(valueOf(childOf(one, 'idx'))), saidIn(childOf(one, 'tx'))] as const)
  const cells = all.find(({ name }) => name === 'datalabelsRange')
  for (const [place, text] of [...typed, ...pointsOf(cells, 0)]) if (text !== '') shown.set(place, `${shown.get(place) ?? ''} (${text})`)
  return shown
}

/** The text of a title or a name, without the address of its cell. */
function saidIn(element: Element | undefined): string {
  return elementsIn(element === undefined ? [] : [element])
    .flatMap((one) => (one.name === 'p' ? ' ' : one.name === 't' || one.name === 'v' ? textIn([one]) : []))
    .join('')
    .trim()
}
