import { isTag, type AnyNode, type Element } from 'domhandler'
import { Unread, type Block, type BlockDocument } from '../contract.ts'
import { numberText } from '../markup/list.ts'
import { madeBlocks } from '../markup/markup.ts'
import { mathText } from '../markup/math.ts'
import { bulletMark, symbolsIn } from '../markup/symbols.ts'
import { checkDepth } from '../markup/text.ts'
import { elementsIn } from '../markup/tidy.ts'
import { childOf, childrenOf, elementsOf, made, nested, parseXml, textIn } from '../markup/xml.ts'
import type { ZipDocument } from '../zip.ts'
import { chartNodes, chartXml } from './charts.ts'
import { openOffice, partText, relatedParts, unreadPart } from './parts.ts'

/** Placeholders of a slide that repeat on every slide. */
const REPEATED = new Set(['sldNum', 'dt', 'ftr', 'hdr', 'sldImg'])
const TITLES = new Set(['title', 'ctrTitle'])
const BULLETED = new Set(['body', 'obj'])
/** Numbers of lists: "alphaLcParenR" is "a)". */
const NUMBERED = /^(arabic|alphaLc|alphaUc|romanLc|romanUc)(Period|ParenR|ParenBoth)?/

/** A presentation (PPTX): slides in their order, each with its notes. @throws document_invalid (damaged), payload_too_large */
export async function pptxDocument(bytes: Uint8Array): Promise<BlockDocument> {
  const { zip, main, related, title } = await openOffice(bytes, 'ppt/presentation.xml')
  const parts = new Map(related.map(({ id, part }) => [id, part]))
  const blocks: Block[] = []
  const unread = new Unread()
  // The ids of sections name the slides again.
  const ids = elementsOf(await zip.read(main), 'sldId').flatMap(({ attribs: { 'r:id': id } }) => id ?? [])
  for (const [i, id] of ids.entries()) {
    const nodes = await slideNodes(zip, parts.get(id) ?? '', i + 1, unread)
    for (const one of madeBlocks(nodes).map((block) => ({ ...block, page: i + 1 }))) blocks.push(one)
  }
  return { title, blocks, warnings: unread.warnings }
}

async function slideNodes(zip: ZipDocument, part: string, number: number, unread: Unread): Promise<Element[]> {
  const slide = parseXml(await zip.read(part)).children
  if (slide.some((node) => isTag(node) && node.attribs.show === '0')) {
    unread.add('hidden slides')
    return []
  }
  for (const element of elementsIn(slide)) {
    const { name, attribs, parent } = element
    if (name === 'tc' && /1|true/.test(`${attribs.hMerge} ${attribs.vMerge}`) && textIn([element]).trim() !== '')
      unread.add('cells under merged ones')
    if (name === 'fld' && attribs.type === 'slidenum') element.children = [made('t', [String(number)])]
    if (name === 'sp' && REPEATED.has(placeOf(element))) unread.addEdge(textIn([element]))
    if (name === 'cNvPr' && /^(?:1|true)$/.test(attribs.hidden ?? '') && parent?.parent && isTag(parent.parent)) {
      unread.add('hidden shapes')
      parent.parent.children = []
    }
  }
  // A title may be drawn after the text below it.
  const nodes = shapes(slide, 0).sort((a, b) => Number(/^h/.test(b.name)) - Number(/^h/.test(a.name)))
  for (const node of nodes) if (number === 1 && node.name === 'h1') node.name = 'h0'
  for (const { type, part: related } of await relatedParts(zip, part)) {
    const charts = type === 'chart' ? chartNodes(await chartXml(zip, related)) : []
    for (const one of charts) nodes.push(one)
    if (type !== 'notesSlide' && type !== 'diagramData') {
      unread.add(charts.length > 0 ? undefined : unreadPart(type))
      continue
    }
    const { children } = parseXml(await partText(zip, related))
    // Paragraphs of notes are no items.
    for (const one of elementsIn(children))
      if (one.name === 'ph' && type === 'notesSlide' && one.attribs.type === 'body') one.attribs.type = 'notes'
    const inside = shapes(children, 0)
    for (const one of type === 'notesSlide' ? inside.filter(({ name }) => !/^h\d$/.test(name)) : inside) nodes.push(one)
  }
  return nodes
}

/** Texts, tables and descriptions of shapes. */
function shapes(nodes: readonly AnyNode[], depth: number): Element[] {
  checkDepth(depth)
  return nodes.filter(isTag).flatMap((node): Element[] => {
    if (node.name === 'AlternateContent') return shapes(firstVersion(node), depth + 1)
    if (node.name === 'tbl') return [table(node)]
    if (node.name === 'cNvPr') return [description(node)]
    return node.name === 'sp' || node.name === 'pt' ? shape(node) : shapes(node.children, depth + 1)
  })
}

/** The kind of a shape's placeholder; empty for other shapes. */
function placeOf(shape: Element): string {
  const place = elementsIn([shape]).find(({ name }) => name === 'ph')
  return place === undefined ? '' : (place.attribs.type ?? 'obj')
}

function description({ attribs: { title = '', descr = '' } }: Element): Element {
  return made('p', [`${title} ${descr}`])
}

function shape(element: Element): Element[] {
  const inside = elementsIn([element])
  const place = placeOf(element)
  if (REPEATED.has(place)) return []
  const paragraphs = inside.filter(({ name }) => name === 'p').filter((one) => textIn([one]).trim() !== '')
  const titles = paragraphs.flatMap((one) => [...runs(one), ' '])
  // A centred title stands above the slides after it.
  if (TITLES.has(place)) return [made(place === 'ctrTitle' ? 'h1' : 'h2', titles)]
  return [...inside.filter(({ name }) => name === 'cNvPr').map(description), ...paragraphsAndLists(paragraphs, BULLETED.has(place))]
}

/** @param areItems paragraphs without marks of their own */
function paragraphsAndLists(paragraphs: readonly Element[], areItems: boolean): Element[] {
  const isBulleted = (one: Element): boolean => {
    const has = (name: string): boolean => childOf(childOf(one, 'pPr'), name) !== undefined
    return !has('buNone') && (areItems || has('buChar') || has('buAutoNum'))
  }
  const [found, numbers]: [Element[], Numbered[]] = [[], []]
  for (const one of paragraphs) {
    const last = found.at(-1)
    if (!isBulleted(one)) {
      numbers.splice(levelOf(one))
      found.push(made('p', runs(one)))
    } else if (last?.name === 'ul') found.splice(-1, 1, made('ul', [...last.children, item(one, numbers)]))
    else found.push(made('ul', [item(one, numbers)]))
  }
  return found
}

/** The last number of a level, and the kind of its list: another kind, and text between, restart the numbers. */
interface Numbered {
  readonly kind: string
  readonly number: number
}

function levelOf(paragraph: Element): number {
  return Math.min(8, Number(childOf(paragraph, 'pPr')?.attribs.lvl ?? 0) || 0)
}

/** @param numbers of the items before, by level */
function item(paragraph: Element, numbers: Numbered[]): Element {
  const level = levelOf(paragraph)
  const properties = childOf(paragraph, 'pPr')
  const { type, startAt = '1' } = childOf(properties, 'buAutoNum')?.attribs ?? {}
  const bullet = bulletMark(childOf(properties, 'buChar')?.attribs.char, childOf(properties, 'buFont')?.attribs.typeface)
  const [before] = numbers.splice(level)
  const kind = `${type} ${startAt}`
  const number = before?.kind === kind ? before.number + 1 : Number(startAt)
  if (type !== undefined) numbers[level] = { kind, number }
  return nested(made('li', runs(paragraph), { 'data-mark': type === undefined ? bullet : numberMark(number, type) }), level)
}

function numberMark(number: number, type: string): string {
  const [, format = '', end] = NUMBERED.exec(type) ?? []
  const text = numberText(number, format)
  return end === 'Period' ? `${text}.` : end === undefined ? text : `${end === 'ParenBoth' ? '(' : ''}${text})`
}

function firstVersion({ children }: Element): Element[] {
  return children.filter(isTag).slice(0, 1)
}

/** The runs of a paragraph, raised ones as superscripts. */
function runs({ children }: Element, depth = 0): (Element | string)[] {
  checkDepth(depth)
  return children.filter(isTag).flatMap((one) => {
    if (one.name === 'br') return [made('br', [])]
    if (one.name === 'oMath') return [mathText(one)]
    if (one.name === 'AlternateContent') return firstVersion(one).flatMap((version) => runs(version, depth + 1))
    if (one.name !== 'r' && one.name !== 'fld') return runs(one, depth + 1)
    const properties = childOf(one, 'rPr')
    const fontOf = (name: string): string | undefined => childOf(properties, name)?.attribs.typeface
    const letters = symbolsIn(textIn([childOf(one, 't') ?? made('t', [])]), fontOf('latin'))
    const text = symbolsIn(letters, fontOf('sym'), { areAll: false })
    const { baseline = '0', strike = 'noStrike' } = properties?.attribs ?? {}
    if (Number(baseline) !== 0) return [made(Number(baseline) > 0 ? 'sup' : 'sub', [text])]
    return [strike === 'noStrike' ? text : made('del', [text])]
  })
}

function table(element: Element): Element {
  const showsHead = childOf(element, 'tblPr')?.attribs.firstRow === '1'
  const rows = childrenOf(element, 'tr')
  const shown = rows.map((row, i) => {
    const cells = childrenOf(row, 'tc').filter(({ attribs: { hMerge = '0', vMerge = '0' } }) => !/1|true/.test(hMerge + vMerge))
    const columns = cells.map((cell) => {
      const inside = elementsIn([cell]).filter(({ name }) => name === 'p')
      const { gridSpan: colspan = '1', rowSpan: rowspan = '1' } = cell.attribs
      return made('td', paragraphsAndLists(inside, false), { colspan, rowspan })
    })
    return i === 0 && showsHead && rows.length > 1 && cells.length > 2 ? made('thead', [made('tr', columns)]) : made('tr', columns)
  })
  return made('table', shown)
}
