import { isTag, type AnyNode, type ChildNode, type Element } from 'domhandler'
import { DomUtils } from 'htmlparser2'
import { mathText } from '../markup/math.ts'
import { symbolsIn } from '../markup/symbols.ts'
import { ancestors, checkDepth } from '../markup/text.ts'
import { elementsIn } from '../markup/tidy.ts'
import { childOf, childrenOf, made, nested, textIn } from '../markup/xml.ts'
import { chartNodes } from './charts.ts'
import type { NoteNumbers } from './docx-notes.ts'
import type { Numbering, Styles } from './docx-styles.ts'
import { isOn, valueOf } from './parts.ts'
import { Unread } from '../contract.ts'

export interface BodyParts {
  readonly styles: Styles
  readonly numbering: Numbering
  /** Elements of footnotes and endnotes. */
  readonly notes: readonly Element[]
  readonly noteNumbers: NoteNumbers
  /** XML of charts by the ids of their relations. */
  readonly charts: ReadonlyMap<string, string>
}

/** What is deleted, or holds no text of the document. */
const SKIPPED = new Set('del moveFrom delText delInstrText sectPr ffData sdtPr sdtEndPr rt binData'.split(' '))
const PROPERTIES = /(?<!doc)Pr$/
const UNREAD: Readonly<Record<string, string>> = {
  relIds: 'diagrams',
  OLEObject: 'embedded objects',
  control: 'form fields',
  altChunk: 'embedded documents',
  subDoc: 'embedded documents',
  commentReference: 'comments',
  del: 'deletions',
}
/** Fields that store no result: their code is the text, or the program makes it; others may lack theirs until they are updated. */
const BUTTON = /^\s*(?:MACRO|GOTO)BUTTON\s+\S+\s+(.*)$/i
const SHOWN_FIELD =
  /^\s*(?:=|(?:EQ|SYMBOL|LISTNUM|AUTONUM\w*|(?:SAVE|CREATE|PRINT)?DATE|TIME|(?:NUM|SECTION)?PAGES?|(?:PAGE|NOTE|STYLE)?REF|SEQ|AUTHOR|TITLE|FILENAME|MERGEFIELD|DOC(?:PROPERTY|VARIABLE)|QUOTE|IF)\b)/i
/** Half-points by which a run is raised or lowered at least that is a script. */
const SHIFT = 4
/** Bit of a table's look that formats its first row as a head, and styles that do not show it. */
const FIRST_ROW = 0x20
const PLAIN_STYLE = /^(?:|(?:normal|plain|table).*|.*grid(?: light)?)$/i

interface Item {
  readonly level: number
  readonly item: Element
}

/** Turns the body of a document into HTML elements. */
export class Body {
  readonly #notes: ReadonlyMap<string, Element>
  readonly unread = new Unread()
  /** The code of the field that the runs are in, by nesting; undefined in its result. */
  #codes: (string | undefined)[] = []
  /** Marks of the notes that were referred to. */
  readonly #marks = new Map<string, string>()
  /** What follows the current paragraph: notes and text boxes. */
  #after: ChildNode[] = []

  constructor(private readonly parts: BodyParts) {
    this.#notes = new Map(parts.notes.map((note) => [`${note.name} ${note.attribs.id ?? ''}`, note]))
  }

  read(nodes: readonly AnyNode[], depth = 0): Element[] {
    checkDepth(depth)
    const found: (Element | Item[])[] = []
    for (const part of this.#partsIn(nodes, depth)) {
      const last = found.at(-1)
      if (!('item' in part)) found.push(part)
      else if (Array.isArray(last)) last.push(part)
      else found.push([part])
    }
    return found.map((one) => (Array.isArray(one) ? listOf(one) : one))
  }

  /** Paragraphs, items and tables, through elements around them. */
  *#partsIn(nodes: readonly AnyNode[], depth: number): Generator<Element | Item> {
    checkDepth(depth)
    for (const node of nodes) {
      if (!this.#isRead(node)) continue
      if (node.name === 'p') yield* this.#paragraph(node, depth)
      else if (node.name === 'tbl') yield this.#table(node, depth)
      else if (node.name === 'oMathPara' || node.name === 'oMath') yield made('p', [mathText(node)])
      else yield* this.#partsIn(node.name === 'AlternateContent' ? alternative(node) : node.children, depth + 1)
    }
  }

  *#paragraph(paragraph: Element, depth: number): Generator<Element | Item> {
    const { heading, isCode, isContents, list } = this.parts.styles.kindOf(childOf(paragraph, 'pPr'))
    const [around, codes] = [this.#after, this.#codes]
    this.#after = []
    this.#codes = []
    const runs = this.#inline(paragraph.children, depth + 1)
    const after = this.#after
    this.#after = around
    this.#codes = codes
    const place = list && this.parts.numbering.next(list)
    if (isContents) this.unread.add('lines of tables of contents')
    else if (heading !== undefined)
      yield made(`h${heading}`, place === undefined || place.mark === '-' ? runs : [`${place.mark} `, ...runs])
    else if (place !== undefined) {
      yield { level: place.level, item: made('li', [made('p', runs), ...after], { 'data-mark': place.mark }) }
      return
    } else yield made(isCode ? 'pre' : 'p', runs)
    for (const node of after) if (isTag(node)) yield node
  }

  #inline(nodes: readonly AnyNode[], depth: number): (ChildNode | string)[] {
    checkDepth(depth)
    return nodes.flatMap((node) => (this.#isRead(node) ? this.#run(node, depth) : []))
  }

  #run(node: Element, depth: number): (ChildNode | string)[] {
    switch (node.name) {
      case 't':
        return this.#codes.some((code) => code) ? [] : [textIn([node])]
      case 'p':
      case 'tc':
        return [...this.#inline(node.children, depth + 1), ' ']
      case 'tab':
      case 'ptab':
        return ['\t']
      case 'br':
      case 'cr':
        return [made('br', [])]
      case 'noBreakHyphen':
        return ['-']
      case 'sym':
        return [this.#symbol(node.attribs)]
      case 'r':
        return this.#formatted(node, depth)
      case 'fldSimple': {
        const shown = this.#inline(node.children, depth + 1)
        if (shown.length === 0 && SHOWN_FIELD.test(node.attribs.instr ?? '')) this.unread.add('fields without a stored text')
        return shown
      }
      case 'fldChar':
        return this.#field(node)
      case 'instrText':
        if (this.#codes.length > 0) this.#codes.push(`${this.#codes.pop() ?? ''}${textIn([node])}`)
        return []
      case 'oMath':
        return [mathText(node)]
      case 'footnoteReference':
      case 'endnoteReference':
        return this.#reference(node, depth)
      case 'docPr':
        return [` ${node.attribs.title ?? ''} ${node.attribs.descr ?? ''} `]
      case 'shape':
        return [` ${node.attribs.alt ?? ''} `, ...this.#inline(node.children, depth + 1)]
      case 'textpath':
        return [` ${node.attribs.string ?? ''} `]
      case 'chart':
        return this.#chart(node)
      case 'txbxContent':
        for (const one of this.read(node.children, depth + 1)) this.#after.push(one)
        return []
      case 'ruby':
        return [...this.#inline(childOf(node, 'rubyBase')?.children ?? [], depth + 1), `(${textIn([childOf(node, 'rt') ?? node])})`]
      case 'sdt': {
        const box = childOf(childOf(node, 'sdtPr'), 'checkbox')
        return box === undefined ? this.#inline(node.children, depth + 1) : [isOn(childOf(box, 'checked')) ? '[x]' : '[ ]']
      }
      case 'AlternateContent':
        return this.#inline(alternative(node), depth + 1)
      default:
        return this.#inline(node.children, depth + 1)
    }
  }

  #formatted(run: Element, depth: number): (ChildNode | string)[] {
    const paragraph = [...ancestors(run)].find(({ name }) => name === 'p')
    const all = this.parts.styles.ofRun(childOf(run, 'rPr'), childOf(paragraph, 'pPr'))
    const property = (name: string): Element | undefined => all.find((one) => one.name === name)
    if (isOn(property('vanish'))) {
      if (childOf(run, 't') !== undefined) this.unread.add('hidden texts')
      return []
    }
    const font = property('rFonts')?.attribs.ascii
    const inside = this.#inline(run.children, depth + 1).map((node) => (typeof node === 'string' ? symbolsIn(node, font) : node))
    if (inside.length === 0) return inside
    const raised = valueOf(property('vertAlign'))
    const shift = Number(valueOf(property('position')))
    const isStruck = isOn(property('strike')) || isOn(property('dstrike'))
    const script = raised === 'superscript' || shift >= SHIFT ? 'sup' : raised === 'subscript' || shift <= -SHIFT ? 'sub' : undefined
    const name = script ?? (isOn(property('b')) ? 'b' : undefined)
    const shown = name === undefined ? inside : [made(name, inside)]
    return isStruck ? [made('del', shown)] : shown
  }

  /** Follows the parts of a field: its code, then its result. */
  #field(field: Element): string[] {
    const { fldCharType: part } = field.attribs
    const code = part === 'begin' ? '' : (this.#codes.pop() ?? '')
    if (part !== 'end') this.#codes.push(part === 'begin' ? '' : undefined)
    else if (SHOWN_FIELD.test(code)) this.unread.add('fields without a stored text')
    return [part === 'end' ? (BUTTON.exec(code)?.[1] ?? '') : fieldText(field)]
  }

  /** Puts the titles and values of a chart after its paragraph. */
  #chart({ attribs: { id = '' } }: Element): string[] {
    const nodes = chartNodes(this.parts.charts.get(id) ?? '')
    this.unread.add('charts', Number(nodes.length === 0))
    for (const one of nodes) this.#after.push(one)
    return []
  }

  #symbol({ font = '', char = '' }: Readonly<Record<string, string>>): string {
    const letter = String.fromCharCode(0xf000 | Number.parseInt(char, 16))
    const symbol = symbolsIn(letter, font)
    if (symbol !== letter) return symbol
    this.unread.add(`symbols of the font ${font}`)
    return ''
  }

  /** A note's number. A mark of the author's stands in the text, and in the note. */
  #reference(reference: Element, depth: number): string[] {
    const { name, attribs } = reference
    const key = `${name.replace('Reference', ' ')}${attribs.id ?? ''}`
    const note = this.#notes.get(key)
    if (note === undefined) return []
    const isMarked = /^(?:1|true|on)$/.test(attribs.customMarkFollows ?? '')
    const shown = this.#marks.get(key) ?? (isMarked ? '' : `[${this.parts.noteNumbers.next(reference)}]`)
    if (!this.#marks.has(key)) {
      this.#marks.set(key, shown)
      this.#after.push(made('p', [`${shown} `, ...this.#inline(note.children, depth + 1)]))
    }
    return [shown]
  }

  #table(table: Element, depth: number): Element {
    const properties = childOf(table, 'tblPr')
    const look = childOf(properties, 'tblLook')?.attribs ?? {}
    const style = valueOf(childOf(properties, 'tblStyle'))
    const isStyled = !PLAIN_STYLE.test(this.parts.styles.nameOf(style) || style)
    const showsHead = isStyled && (look.firstRow === '1' || (Number.parseInt(look.val ?? '0', 16) & FIRST_ROW) !== 0)
    const isKept = (part: Element): boolean => {
      const mark = childOf(childOf(part, 'trPr'), 'del') ?? childOf(childOf(part, 'tcPr'), 'cellDel')
      if (mark !== undefined) this.unread.add('deletions')
      return mark === undefined
    }
    const rows = childrenThrough(table, 'tr').filter(isKept)
    /** Cells that continue downwards, by column. */
    const above = new Map<number, Element>()
    const shown = rows.map((row, i) => {
      const rowProperties = childOf(row, 'trPr')
      const cells: Element[] = []
      const before = Number(valueOf(childOf(rowProperties, 'gridBefore')) || 0)
      let column = before
      if (before > 0) cells.push(made('td', [], { colspan: String(before) }))
      for (const cell of childrenThrough(row, 'tc')) {
        const cellProperties = childOf(cell, 'tcPr')
        const span = Number(valueOf(childOf(cellProperties, 'gridSpan')) || 1)
        const merge = childOf(cellProperties, 'vMerge')
        const continued = merge !== undefined && valueOf(merge) !== 'restart' ? above.get(column) : undefined
        if (continued !== undefined) {
          continued.attribs.rowspan = String(Number(continued.attribs.rowspan ?? 1) + 1)
          this.unread.add('cells under merged ones', Number(textIn(cell.children).trim() !== ''))
        } else {
          const one = made('td', isKept(cell) ? this.read(cell.children, depth + 1) : [], { colspan: String(span) })
          cells.push(one)
          above.set(column, one)
        }
        column += span
      }
      const isHead = isOn(childOf(rowProperties, 'tblHeader')) || (i === 0 && showsHead)
      return isHead ? made('thead', [made('tr', cells)]) : made('tr', cells)
    })
    return made('table', shown)
  }

  /** Counts what is not read. */
  #isRead(node: AnyNode): node is Element {
    if (!isTag(node)) return false
    this.unread.add(UNREAD[node.name])
    if (/^oMath/.test(node.name)) this.unread.add('deletions', elementsIn(node.children).filter(({ name }) => name === 'del').length)
    const isHidden = /^(?:1|true)$/.test(childOf(node, 'docPr')?.attribs.hidden ?? '')
    if (isHidden) this.unread.add('hidden shapes')
    return !isHidden && !SKIPPED.has(node.name) && !PROPERTIES.test(node.name)
  }
}

/** Moves a text that continues in the next paragraph there: a large initial, or one whose paragraph mark was deleted. */
export function joinParagraphs(elements: readonly Element[]): void {
  for (const paragraph of elements) {
    const properties = childOf(paragraph, 'pPr')
    const [frame, mark] = [childOf(properties, 'framePr'), childOf(properties, 'rPr')]
    const isInitial = /^(?:drop|margin)$/.test(frame?.attribs.dropCap ?? '')
    if (!isInitial && (childOf(mark, 'del') ?? childOf(mark, 'moveFrom')) === undefined) continue
    let next = DomUtils.nextElementSibling(paragraph)
    while (next !== null && /^bookmark/.test(next.name)) next = DomUtils.nextElementSibling(next)
    if (next?.name !== 'p') continue
    for (const child of paragraph.children.toReversed()) if (child !== properties) DomUtils.prependChild(next, child)
    DomUtils.removeElement(paragraph)
  }
}

/** Removes what Word shows in empty fields. @returns number of these fields */
export function emptyFields(elements: readonly Element[]): number {
  const fields = elements.filter((one) => one.name === 'sdt' && isOn(childOf(childOf(one, 'sdtPr'), 'showingPlcHdr')))
  for (const one of elementsIn(fields)) if (one.name === 't') one.children = []
  return fields.length
}

/** A list of consecutive items, in lists of their levels. */
function listOf(items: readonly Item[]): Element {
  const least = items.reduce((low, { level }) => Math.min(low, level), Infinity)
  const lists = items.map(({ level, item }) => nested(item, level - least))
  return made('ul', lists)
}

/** The first version of a drawing that holds text, or a description. */
function alternative({ children }: Element): readonly AnyNode[] {
  const versions = children.filter(isTag)
  const holds = (version: Element): boolean => elementsIn([version]).some(({ name }) => name === 't' || name === 'docPr')
  return (versions.find(holds) ?? versions.at(-1))?.children ?? []
}

/** Children with a name, also in content controls and insertions. */
function childrenThrough({ children }: Element, name: string, depth = 0): Element[] {
  checkDepth(depth)
  return children.filter(isTag).flatMap((child) => {
    if (child.name === name) return [child]
    return ['sdt', 'sdtContent', 'ins', 'customXml', 'moveTo'].includes(child.name) ? childrenThrough(child, name, depth + 1) : []
  })
}

/** What a form field shows that is no text: a check box, or the entry chosen from a list. */
function fieldText(field: Element): string {
  const data = childOf(field, 'ffData')
  const box = childOf(data, 'checkBox')
  if (box !== undefined)
    return isOn(childOf(box, 'checked') ?? (valueOf(childOf(box, 'default')) === '1' ? childOf(box, 'default') : undefined)) ? '[x]' : '[ ]'
  const list = childOf(data, 'ddList')
  return valueOf(childrenOf(list, 'listEntry')[Number(valueOf(childOf(list, 'result') ?? childOf(list, 'default')) || 0)])
}
