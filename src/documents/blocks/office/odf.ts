import path from 'node:path/posix'
import { isTag, isText, type AnyNode, type Element } from 'domhandler'
import { EXACT_DIGITS } from '../../../../base/json.ts'
import { DocumentError } from '../../errors.ts'
import { Unread, type BlockDocument } from '../contract.ts'
import { madeBlocks } from '../markup/markup.ts'
import { numberText } from '../markup/list.ts'
import { mathText } from '../markup/math.ts'
import { bulletMark, symbolsIn } from '../markup/symbols.ts'
import { checkDepth } from '../markup/text.ts'
import { elementsIn } from '../markup/tidy.ts'
import { childOf, childrenOf, elementsOf, elementText, made, nested, parseXml, textIn } from '../markup/xml.ts'
import { openZip, type ZipDocument } from '../zip.ts'
import { partText, shownDate, signed } from './parts.ts'

interface List {
  readonly style: string
  readonly level: number
}

const SKIPPED =
  /^(?:annotation|tracked-changes|forms|sequence-decls|covered-table-cell|change|scripts?|number|settings|content-validations|binary-data|.*index-source|bibliography-source)$/
/** Drawings, which may have texts in them. */
const DRAWN = /^(?:custom-shape|rect|ellipse|circle|polygon|path|line|connector|caption|g)$/
const MOST_LEVELS = 6
const CODE = /^Preformatted/i
const MOST_BASES = 20
/** Cells and rows that a repeated one stands for at most. */
const MOST_REPEATED = 100

/** A text, spreadsheet or presentation of OpenDocument. @throws document_invalid (damaged, encrypted), payload_too_large */
export async function odfDocument(bytes: Uint8Array, type: 'odt' | 'ods' | 'odp'): Promise<BlockDocument> {
  const zip = await openZip(bytes)
  if (elementsOf(await partText(zip, 'META-INF/manifest.xml'), 'encryption-data').length > 0)
    throw new DocumentError('encrypted', 'The file is encrypted: save it without a password.')
  const elements = elementsIn(parseXml(await zip.read('content.xml')).children)
  const styles = parseXml(await partText(zip, 'styles.xml'))
  // The styles of both may have the same names.
  const reader = new Reader([...elementsIn(styles.children), ...elements], await objectsOf(zip, elements), type === 'ods')
  const blocksOf = (nodes: readonly AnyNode[]) => madeBlocks(reader.read(nodes))
  const pages = elements.filter(({ name }) => name === 'page')
  for (const [i, page] of pages.entries()) {
    page.children = page.children.toSorted((a, b) => isTitle(b) - isTitle(a))
    for (const one of elementsIn([page])) if (one.name === 'page-number') one.children = made('p', [String(i + 1)]).children
  }
  const blocks =
    type === 'odp'
      ? pages.flatMap((page, i) => blocksOf([page]).map((block) => ({ ...block, page: i + 1 })))
      : blocksOf(elements.find(({ name }) => name === 'body')?.children ?? [])
  for (const one of [...elementsIn(styles.children), ...elements]) {
    const text = textIn([one])
    // Sheets have the numbers of their pages by default, after a word.
    const isNumber = type === 'ods' && /^\P{L}*\p{L}+\P{L}*$/u.test(text) && elementsIn([one]).some(({ name }) => name === 'page-number')
    if (/^(?:header|footer)(?:-left|-first|-decl)?$/.test(one.name) && !isNumber) reader.unread.addEdge(text)
  }
  return { title: elementText(await partText(zip, 'meta.xml'), 'title'), blocks, warnings: reader.unread.warnings }
}

/** 1 for the title of a slide, which may be drawn after its text. */
function isTitle(shape: AnyNode): number {
  return Number(isTag(shape) && shape.attribs.class === 'title')
}

/** Formulas, and the titles and values of charts, which are objects of their own, by address. */
async function objectsOf(zip: ZipDocument, elements: readonly Element[]): Promise<ReadonlyMap<string, readonly Element[] | string>> {
  const found = new Map<string, readonly Element[] | string>()
  for (const { name, attribs } of elements) {
    const { href = '' } = attribs
    if (name !== 'object' || href === '' || found.has(href)) continue
    const inside = elementsIn(parseXml(await partText(zip, path.join(href, 'content.xml'))).children)
    const formula = inside.find((one) => one.name === 'math')
    const shown = inside.filter((one) => /^(?:title|subtitle|table|data-label)$/.test(one.name))
    if (formula !== undefined) found.set(href, mathText(formula))
    else if (inside.some((one) => one.name === 'chart') && shown.some((one) => one.name === 'table')) found.set(href, shown)
    // Its styles are not those of the document.
    for (const { attribs } of inside) delete attribs['style-name']
    for (const one of inside) if (one.attribs.value === 'NaN') [one.attribs, one.children] = [{}, []]
  }
  return found
}

/** Turns the body of an OpenDocument file into HTML elements. */
class Reader {
  readonly #styles: ReadonlyMap<string, Element>
  /** Numbers of the current items, and of the current headings, by level. */
  #items: number[] = []
  /** Those of lists that others may continue, by id, and of the last one of each style. */
  readonly #lists = new Map<string, number[]>()
  readonly #headings: number[] = []
  readonly unread = new Unread()
  #notes = 0
  /** What follows the current paragraph; absent outside of one. */
  #after: Element[] | undefined

  constructor(
    elements: readonly Element[],
    private readonly objects: ReadonlyMap<string, readonly Element[] | string>,
    private readonly isSheet: boolean,
  ) {
    const styles = elements.filter(({ name }) => /style$/.test(name))
    this.#styles = new Map(styles.map((style) => [`${style.name} ${style.attribs.name ?? ''}`, style]))
  }

  read(nodes: readonly AnyNode[], depth = 0, list?: List): Element[] {
    return this.#nodes(nodes, depth, list).flatMap((node) =>
      typeof node === 'string' ? (node.trim() === '' ? [] : [made('p', [node])]) : [node],
    )
  }

  #nodes(nodes: readonly AnyNode[], depth: number, list?: List): (Element | string)[] {
    checkDepth(depth)
    // Entries of a drop-down stand before the chosen one.
    const shown = nodes.filter((node) => !isTag(node) || node.attribs['display-text'] === undefined)
    return shown.flatMap((node) => (isText(node) ? [node.data] : isTag(node) ? this.#element(node, depth + 1, list) : []))
  }

  #element(element: Element, depth: number, list?: List): (Element | string)[] {
    const { name, attribs, children } = element
    const inside = (): (Element | string)[] => this.#nodes(children, depth, list)
    const hidden = this.#hiddenIn(element)
    this.unread.add(hidden)
    if (hidden !== undefined) return []
    switch (name) {
      case 'h':
      case 'p':
        return this.#paragraph(element, depth)
      case 'list':
        return [made('ul', this.read(children, depth, this.#list(element, list)))]
      case 'numbered-paragraph':
        return [this.#numbered(element, depth)]
      case 'list-item':
        return [made('li', this.read(children, depth, list), { 'data-mark': this.#mark(element, list) })]
      case 'note': {
        const number = textIn(childrenOf(element, 'note-citation')).trim() || ++this.#notes
        const body = this.read(childOf(element, 'note-body')?.children ?? [], depth)
        this.#after?.push(made('p', [`[${number}] `, ...body.flatMap((one) => (one.name === 'p' ? [...one.children, ' '] : [one]))]))
        return [`[${number}]`]
      }
      case 'span':
        return [made(this.#spanName(attribs['style-name']), this.#symbols(inside(), attribs['style-name']))]
      case 's':
        return [' '.repeat(Math.min(MOST_REPEATED, Number(attribs.c ?? 1) || 1))]
      case 'tab':
        return ['\t']
      case 'line-break':
        return [made('br', [])]
      case 'ruby-text':
        return [`(${textIn([element])})`]
      case 'fieldmark':
        return [fieldState(element)]
      case 'table-of-content':
      case 'object':
      case 'object-ole':
        return this.#object(element, depth)
      case 'frame':
        return this.#frame(element, depth)
      case 'table':
        if (!this.isSheet) return [made('table', this.read(children, depth))]
        return [made('h2', [attribs.name ?? '']), made('table', this.read(children, depth), { 'data-sheet': '' })]
      case 'table-header-rows':
        return [made('thead', this.read(children, depth))]
      case 'table-row':
        return this.#repeated(made('tr', this.read(children, depth)), attribs['number-rows-repeated'])
      case 'table-cell':
        return this.#cell(element, depth)
      default:
        if (name === 'annotation') this.unread.add('comments')
        if (name === 'covered-table-cell' && textIn([element]).trim() !== '') this.unread.add('cells under merged ones')
        if (name === 'control') this.unread.add('form fields')
        if (name === 'tracked-changes') this.unread.add('deletions', elementsIn(children).filter((one) => one.name === 'deletion').length)
        if (DRAWN.test(name)) return this.#frame(element, depth)
        return SKIPPED.test(name) ? [] : inside()
    }
  }

  #object({ name, attribs: { href = '' } }: Element, depth: number): (Element | string)[] {
    const object = this.objects.get(href)
    if (typeof object === 'string') return object.split('\n')
    // The values of a chart in a sheet are in its cells.
    if (object !== undefined && !this.isSheet) return this.read(object, depth)
    this.unread.add(object !== undefined ? 'charts' : name === 'table-of-content' ? 'tables of contents' : 'embedded objects')
    return []
  }

  /** What is hidden with an element. */
  #hiddenIn(element: Element): string | undefined {
    const { name, attribs } = element
    const { 'style-name': style = '' } = attribs
    const isHidden = [attribs, childOf(element, 'hidden-paragraph')?.attribs].some((one) => one?.['is-hidden'] === 'true')
    if (isHidden || attribs.display === 'none') return 'hidden texts'
    if (name === 'placeholder' || attribs['showing-place-holder'] === 'true') return 'placeholders of empty fields'
    if (name !== 'table' && name !== 'page') return undefined
    const properties = this.#styles.get(`style ${style}`)?.children.filter(isTag) ?? []
    const isOff = properties.some((one) => one.attribs.display === 'false' || one.attribs.visibility === 'hidden')
    return isOff ? (name === 'page' ? 'hidden slides' : 'hidden sheets') : undefined
  }

  #cell({ attribs, children }: Element, depth: number): Element[] {
    const { 'number-columns-spanned': colspan = '1', 'number-rows-spanned': rowspan = '1', 'style-name': style = '' } = attribs
    const day = this.isSheet ? attribs['date-value'] : undefined
    const texts = day === undefined ? this.read(children, depth) : [made('p', [shownDate(day)])]
    // Some programs store no text of a value.
    const isFormatted = this.#styles.get(`style ${style}`)?.attribs['data-style-name'] !== undefined
    const text = textIn(texts).trim()
    const isHidden = isFormatted && attribs.value !== undefined && texts.length > 0 && textIn(texts) === ''
    if (isHidden) this.unread.add('values that their formats hide')
    const value = text === '' ? valueText(attribs) : signed(text, Number(attribs.value))
    const shown = isHidden || value === text ? texts : [made('p', [value])]
    if (attribs.formula !== undefined && attribs['value-type'] === undefined) this.unread.add('formulas without a stored value')
    const styled = made(this.#spanName(attribs['style-name']), shown)
    return this.#repeated(made('td', [styled], { colspan, rowspan }), attribs['number-columns-repeated'])
  }

  #paragraph(element: Element, depth: number): Element[] {
    const around = this.#after
    const after: Element[] = []
    this.#after = after
    const inside = this.#nodes(element.children, depth)
    this.#after = around
    const { 'style-name': style = '', 'outline-level': outline = '1' } = element.attribs
    if (element.name === 'h') {
      const level = Math.max(1, Number(outline) || 1)
      const { 'list-style-name': numbers, 'default-outline-level': own } = this.#styles.get(`style ${style}`)?.attribs ?? {}
      const isUnnumbered = element.attribs['is-list-header'] === 'true' || (numbers === '' && own === undefined)
      const mark = isUnnumbered ? '' : this.#number(element, this.#headings, level, this.#levels('outline-style', level))
      return [made(`h${Math.min(level, MOST_LEVELS)}`, [mark, ' ', ...inside]), ...after]
    }
    const parent = this.#styles.get(`style ${style}`)?.attribs['parent-style-name'] ?? ''
    const name = /^Title$/.test(style) || parent === 'Title' ? 'h0' : CODE.test(style) || CODE.test(parent) ? 'pre' : 'p'
    return [made(name, [made(this.#spanName(style), inside)]), ...after]
  }

  #frame(element: Element, depth: number): (Element | string)[] {
    // They repeat on every slide.
    if (/^(?:page-number|date-time|header|footer)$/.test(element.attribs.class ?? '')) return []
    if (element.attribs.class === 'title') return [made('h2', this.read(element.children, depth))]
    const texts = ['title', 'desc'].map((name) => textIn([childOf(element, name) ?? made('p', [])])).filter((text) => text !== '')
    const shown = element.children.filter((node) => !isTag(node) || (node.name !== 'title' && node.name !== 'desc'))
    const inside = [...texts.map((text) => ` ${text} `), ...this.#nodes(shown, depth)]
    if (this.#after === undefined) return inside
    for (const one of inside.filter((node) => typeof node !== 'string')) this.#after.push(one)
    return inside.filter((node) => typeof node === 'string')
  }

  #list({ attribs }: Element, around: List | undefined): List {
    const list = { style: attribs['style-name'] ?? around?.style ?? '', level: (around?.level ?? 0) + 1 }
    const isContinued = attribs['continue-numbering'] === 'true' || attribs['continue-list'] !== undefined
    if (list.level === 1) {
      const byStyle = `style ${list.style}`
      this.#items = (isContinued ? this.#lists.get(attribs['continue-list'] ?? byStyle) : undefined) ?? []
      for (const key of [attribs.id ?? '', byStyle]) this.#lists.set(key, this.#items)
    } else if (!isContinued) this.#items.splice(list.level)
    return list
  }

  #symbols(nodes: readonly (Element | string)[], style = ''): (Element | string)[] {
    const font = childOf(this.#styles.get(`style ${style}`), 'text-properties')?.attribs['font-name']
    return nodes.map((node) => (typeof node === 'string' ? symbolsIn(node, font) : node))
  }

  /** A paragraph that is numbered outside of a list. */
  #numbered(element: Element, depth: number): Element {
    const { 'style-name': style = '', level = '1', 'list-id': key = `style ${style}` } = element.attribs
    const list = { style, level: Number(level) || 1 }
    this.#lists.set(key, (this.#items = this.#lists.get(key) ?? []))
    return nested(made('li', this.read(element.children, depth), { 'data-mark': this.#mark(element, list) }), list.level)
  }

  #mark(element: Element, list: List | undefined): string {
    if (list === undefined) return '-'
    const start = Number(element.attribs['start-value'] ?? Number.NaN)
    if (Number.isInteger(start)) this.#items[list.level] = start - 1
    const levels = this.#levels(`list-style ${list.style}`, list.level)
    const font = childOf(levels[list.level], 'text-properties')?.attribs['font-name']
    return this.#number(element, this.#items, list.level, levels) || bulletMark(levels[list.level]?.attribs['bullet-char'], font)
  }

  #levels(style: string, level: number): (Element | undefined)[] {
    const found = [...this.#styles].find(([name]) => name === style || (style === 'outline-style' && name.startsWith(style)))?.[1]
    return Array.from({ length: level + 1 }, (_, i) =>
      found?.children.find((node): node is Element => isTag(node) && node.attribs.level === String(i)),
    )
  }

  /** The next number at a level, as the element says it or its style shows it; empty for bullets. */
  #number(element: Element, counts: number[], level: number, levels: readonly (Element | undefined)[]): string {
    const { 'num-format': format = '', 'num-prefix': prefix = '', 'num-suffix': suffix = '', ...own } = levels[level]?.attribs ?? {}
    const { 'display-levels': shown = '1', 'start-value': start = '1' } = own
    counts.splice(level + 1)
    counts[level] = (counts[level] ?? Number(start) - 1) + 1
    const said = textIn(childrenOf(element, 'number'))
    if (format === '' || said !== '') return said
    const from = Math.max(1, level - Number(shown) + 1)
    const numbers = Array.from({ length: level - from + 1 }, (_, i) =>
      numberText(counts.at(from + i) ?? 1, levels.at(from + i)?.attribs['num-format']),
    )
    return prefix + numbers.join('.') + suffix
  }

  /** The element that shows text in a style, or in those it is based on. */
  #spanName(style = '', bases = 0): string {
    const found = this.#styles.get(`style ${style}`)
    const text = childOf(found, 'text-properties')?.attribs ?? {}
    const { 'text-position': position = '', 'text-line-through-style': line = 'none', 'font-weight': weight, display } = text
    if (display === 'none') {
      this.unread.add('hidden texts')
      return 'template'
    }
    if (/^(?:super|[1-9])/.test(position)) return 'sup'
    if (/^(?:sub|-)/.test(position)) return 'sub'
    const name = line !== 'none' ? 'del' : weight === 'bold' ? 'b' : 'span'
    return name !== 'span' || found === undefined || bases > MOST_BASES
      ? name
      : this.#spanName(found.attribs['parent-style-name'], bases + 1)
  }

  /** Copies of a row or cell that stands for several; empty cells are one wide cell. */
  #repeated(element: Element, count = '1'): Element[] {
    const copies = Number(count) || 1
    if (copies === 1) return [element]
    if (textIn([element]).trim() === '') return element.name === 'td' ? [made('td', [], { colspan: count })] : [element]
    this.unread.add(`repeated ${element.name === 'td' ? 'cells' : 'rows'}`, copies - MOST_REPEATED)
    return Array.from({ length: Math.min(copies, MOST_REPEATED) }, () => element.cloneNode(true))
  }
}

/** The state of a check box, or the chosen entry of a list, in a form. */
function fieldState(field: Element): string {
  const valuesOf = (name: string): string[] =>
    childrenOf(field, 'param').flatMap(({ attribs }) => (attribs.name === name ? (attribs.value ?? '') : []))
  if (/CHECKBOX$/.test(field.attribs.type ?? '')) return valuesOf('Checkbox_Checked').includes('true') ? '[x]' : '[ ]'
  const [chosen = '0'] = valuesOf('Dropdown_Selected')
  return valuesOf('Dropdown_ListEntry').at(Number(chosen)) ?? ''
}

/** The value of a cell. */
function valueText(attribs: Element['attribs']): string {
  const { 'value-type': type, 'string-value': text, 'time-value': time, 'boolean-value': boolean, value = '', currency = '' } = attribs
  if (type === 'percentage') return `${Number((100 * Number(value)).toPrecision(EXACT_DIGITS))}%`
  return text ?? time?.replace(/^PT(\d+)H(\d+)M(\d+).*$/, '$1:$2:$3') ?? boolean ?? `${value} ${currency}`
}
