import { DomHandler, isTag, isText, Text, type AnyNode, type Document, type Element } from 'domhandler'
import { DomUtils, parseDocument, Parser, type ParserOptions } from 'htmlparser2'
import { removeNavigation } from './navigation.ts'
import { cssText, styleLists, type Rule } from './list.ts'
import { mathText } from './math.ts'
import { placeNotes, setText } from './notes.ts'
import { namePanels } from './panels.ts'
import { boxOf, iconText, symbolsIn } from './symbols.ts'
import { HtmlHandler } from './html-handler.ts'
import { ancestors, BLOCKS, checkDepth, HIDDEN, isHidden, isSkipped, raisedText, textOf } from './text.ts'

const ROLES: Readonly<Record<string, string>> = {
  ...{ table: 'table', grid: 'table', row: 'tr', cell: 'td', gridcell: 'td', columnheader: 'th', rowheader: 'th' },
  ...{ list: 'ul', listitem: 'li' },
}
/** Pictures that show the state of a project, not a part of the text. */
const BADGE = /badge|shields\.io|travis-ci|codecov|coveralls/i
const FILE_NAME = /^[\w-]+\.(?:png|jpe?g|gif|svg|webp)$/i
/** What kind of thing a term is. */
const TYPE = /(?:^|\s)classifier(?:\s|$)/
const FONT = /font(?:-family)?\s*:\s*["']?([\w ]+)/i
const SHOWN_APART = /display\s*:\s*(?:block|flex|grid|table|list-item)/i
/** A box within a line, with space around its text. */
const CHIP = /(?=[^]*display\s*:\s*inline-(?:block|flex))(?=[^]*(?:margin|padding)[^;]*[1-9])/i
/** Types of inputs whose values are shown as text. */
const TYPED = /^(?:text|search|email|number|range|tel|url|date|time|datetime-local|month|week)$/i
/** Elements that are rewritten like others. */
const SAME = new Map(Object.entries({ sub: 'sup', area: 'img', svg: 'img', meter: 'input', progress: 'input' }))
const CHECKABLE = new Set(['li', 'label', 'td', 'p', 'dd'])
/** Parts of a page in which a check box is an answer. */
const [FORMS, MOST_AROUND] = [new Set(['form', 'fieldset', 'td', 'th']), 9]
/** Names of check boxes that open a part of the page. */
const SWITCH = /tab|toggle|menu|nav/i
const MOST_ABOVE = 3
/** Nodes that are searched for the text before an element, and characters of it. */
const SEARCHED = 20
const LONGEST_BEFORE = 20
const COMMENT = /\/\*(?:[^]*?\*\/|[^]*)|(?<=\s)\s+/g
/** A small text, which is raised or lowered by its place in the line. */
const SMALL = /font-size\s*:\s*(?:0?\.\d|[4-8]\d(?:\.\d+)?%|[5-9](?:\.\d+)?p[tx]|(?:xx?-)?small(?:er)?)/i
const RAISED = /(?:^|[;\s])top\s*:\s*-[\d.]|vertical-align\s*:\s*(?:(?:text-)?top|0?\.?0?[1-9])/i
const LOWERED = /(?:^|[;\s])top\s*:\s*0?\.?0?[1-9]|vertical-align\s*:\s*-[\d.]/i
/** Elements that a style may raise or lower. */
const STYLED = /^(?:span|font|small|b|i|em|strong)$/
/** A class, perhaps of one kind of element. */
const CLASS = /^[a-z\d]*\.([\w-]+)$/i
/** What a style shows before or after elements of a class, if it says something: words, units, signs of money, check marks, signs of a number. */
const [SHOWN_AROUND, LITERAL] = [/^[a-z\d]*\.([\w-]+)::?(before|after)$/i, /(?:^|;)\s*content\s*:\s*(["'])(.*?)\1/i]
const SAYING = /\p{L}{2}|^\s\p{L}$|[\p{Sc}%\u2030\u00b0\u2713-\u2718\u2705\u274c]/u
const [SIGN, AMOUNT, NO_TEXT] = [/^\s*[-+\u2212]\s*$/, /^[\d\p{Sc}]/u, /^(?:table|t[rdh]|thead|tbody|tfoot|[oud]l|html|body|head|select)$/]
const STRUCK = /^(?:del|s|strike)$/

/** `linked`: style sheets outside the page; `withoutMenus` removes menus, and headers and footers of the page. */
export type MarkupOptions = ParserOptions & { readonly linked?: string; readonly withoutMenus?: boolean }
export type ParsedMarkup = ReturnType<typeof parseMarkup>

/**
 * Parses HTML and rewrites it to say in text what it shows by other means: superscripts, alternative texts of images, formulas, states of
 * check boxes, values of forms, names of tabs, notes at their references.
 * @returns the nodes of the page, and all elements that were in it
 */
export function parseMarkup(source: string, { withoutMenus = false, linked, ...options }: MarkupOptions = {}) {
  const { children } = parsed(source, options)
  const elements = elementsIn(children)
  const rules = rulesIn(elements, linked)
  applyRules(elements, rules)
  styleLists(elements, rules)
  tidy(elements, withoutMenus)
  return { nodes: children, elements }
}

/** The tree of a source, in which CDATA sections are texts. */
export function parsed(source: string, options: ParserOptions): Document {
  const handler = options.xmlMode === true ? new DomHandler() : new HtmlHandler()
  handler.oncdatastart = handler.oncdataend = () => undefined
  new Parser(handler, options).end(source)
  return handler.root
}

/** Rewrites parsed elements in place. */
export function tidy(elements: readonly Element[], withoutMenus = false): void {
  if (withoutMenus) removeNavigation(elements)
  placeNotes(elements)
  namePanels(elements)
  for (const element of elements) rewrite(element)
}

/** Elements in document order; `findAll` is not recursive, since nesting depth is unbounded. */
export function elementsIn(nodes: readonly AnyNode[]): Element[] {
  return DomUtils.findAll(() => true, [...nodes])
}

/** Rules of style sheets for single selectors. */
function rulesIn(elements: readonly Element[], linked = ''): Rule[] {
  const inside = elements.filter(({ name }) => name === 'style').map(({ children }) => DomUtils.textContent(children))
  return [linked, ...inside]
    .join('\n')
    .replace(COMMENT, '')
    .split('}')
    .flatMap((rule) => {
      const [selectors = '', style = ''] = rule.split('{').slice(-2)
      return selectors
        .replace(/^[^]*;/, '')
        .split(',')
        .map((selector) => ({ selector: selector.trim(), style }))
    })
}

/** Names elements whose style or class raises, lowers or strikes out text after that; a class may show them apart, or text around them. */
function applyRules(elements: readonly Element[], rules: readonly Rule[]): void {
  const scripts = new Map<string, ReturnType<typeof scriptIn>>()
  /** Classes that show text apart, and its least length: a box of a single letter is one of an animated word. */
  const apart = new Map<string, number>()
  const contents = new Map<string, string>()
  for (const { selector, style } of rules) {
    const [, around = '', side = ''] = SHOWN_AROUND.exec(selector) ?? []
    const text = cssText(LITERAL.exec(style)?.[2])
    if ((SAYING.test(text) || SIGN.test(text)) && !HIDDEN.test(style)) contents.set(`${around} ${side.toLowerCase()}`, text)
    const [name, script] = [CLASS.exec(selector)?.[1], scriptIn(style)]
    if (name !== undefined && script !== undefined) scripts.set(name, script)
    if (name !== undefined && (SHOWN_APART.test(style) || CHIP.test(style))) apart.set(name, SHOWN_APART.test(style) ? 1 : 2)
  }
  for (const element of elements) {
    const { style, class: names = '' } = element.attribs
    const all = names.split(/\s+/)
    for (const name of contents.size === 0 || NO_TEXT.test(element.name) ? [] : all) {
      const [before = '', after = ''] = [contents.get(`${name} before`), contents.get(`${name} after`)]
      if (before !== '' && (!SIGN.test(before) || AMOUNT.test(textOf(element.children)))) DomUtils.prependChild(element, new Text(before))
      if (after !== '' && !SIGN.test(after)) DomUtils.appendChild(element, new Text(after))
    }
    const script = scriptIn(style) ?? all.flatMap((name) => scripts.get(name) ?? [])[0]
    if (script !== undefined && (element.name === 'span' || (script !== 'del' && STYLED.test(element.name)))) element.name = script
    else if (element.name === 'a' && script === 'sup') element.attribs.role ??= 'doc-noteref'
    else if (script === 'del') element.attribs['data-struck'] = ''
    const least = all.map((name) => apart.get(name)).find((one) => one !== undefined)
    if (least === undefined || !isInline(element) || textOf(element.children).length < least) continue
    if ([...ancestors(element, MOST_ABOVE)].some(({ name }) => name === 'pre')) {
      if (least === 1) element.name = 'div'
      continue
    }
    DomUtils.prependChild(element, new Text(' '))
    DomUtils.appendChild(element, new Text(' '))
  }
}

function scriptIn(style = ''): 'sup' | 'sub' | 'del' | undefined {
  const [, script] = /vertical-align\s*:\s*(sup|sub)/i.exec(style) ?? []
  if (script !== undefined) return script.toLowerCase() === 'sup' ? 'sup' : 'sub'
  if (SMALL.test(style) && RAISED.test(style)) return 'sup'
  if (SMALL.test(style) && LOWERED.test(style)) return 'sub'
  return /text-decoration[\w-]{0,20}\s{0,9}:[^;]{0,99}line-through/i.test(style) ? 'del' : undefined
}

function rewrite(element: Element): void {
  const { name, attribs, children } = element
  const { role = '', 'aria-level': level = '' } = attribs
  if (role === 'heading') element.name = `h${/^[1-6]$/.exec(level)?.[0] ?? '2'}`
  else if (name === 'div' || name === 'span') element.name = ROLES[role] ?? name
  const box = boxOf(element)
  if (box !== undefined && textOf(children) === '') return say(element, apart(element, box))
  if (box !== undefined && DomUtils.getElementsByTagName('input', children, true, 1).length === 0)
    DomUtils.prependChild(element, new Text(box))
  const font = fontOf(element)
  if (font !== undefined) showSymbols(element, font)
  if ((element.name === 'span' || name === 'a') && SHOWN_APART.test(attribs.style ?? '')) element.name = 'div'
  // The colon before a type is in the style sheet of Docutils.
  const isMarked = DomUtils.prevElementSibling(element)?.attribs.class === 'classifier-delimiter'
  if (TYPE.test(attribs.class ?? '') && !isMarked) DomUtils.prependChild(element, new Text(' : '))
  const icon = iconText(element)
  if (icon !== undefined) return say(element, apart(element, icon))
  if (isHidden(element)) return
  if (isStruck(element)) strike(element)
  const kind = name.replace(/^(?:m(?:ml)?|epub|ops):/, '')
  switch (SAME.get(kind) ?? kind) {
    case 'sup':
      return say(element, beforeNumber(element, scriptText(element)))
    case 'img':
      return say(element, apart(element, alternativeOf(element)), { 'data-image': '' })
    case 'input':
      return sayInput(element)
    case 'textarea':
      // The parser leaves the entities in it.
      return say(element, apart(element, textOf(parseDocument(textOf(children).replaceAll('<', '&lt;')).children)))
    case 'select':
      return say(element, apart(element, chosenIn(element)))
    case 'iframe':
      if (attribs.srcdoc === undefined) return
      say(element, '')
      element.name = 'div'
      for (const node of [...parseMarkup(attribs.srcdoc).nodes]) DomUtils.appendChild(element, node)
      return
    case 'noscript':
      if (/java\s?script/i.test(textOf(children))) return
      element.name = 'div'
      // An image in it is shown by a script too.
      for (const image of DomUtils.getElementsByTagName('img', children)) DomUtils.removeElement(image)
      return
    case 'math': {
      const { parent } = element
      // A formula for readers that do not see its picture.
      if (parent !== null && isTag(parent) && DomUtils.nextElementSibling(parent)?.name === 'img') parent.attribs = {}
      return say(element, mathText(element))
    }
    case 'switch':
      return choose(children)
    case 'script':
      if (/^math\/tex/.test(attribs.type ?? '')) say(element, ` ${children.map((node) => (isText(node) ? node.data : '')).join('')} `)
      return
    case 'rt':
      if (parentName(element) !== 'ruby' || !DomUtils.getSiblings(element).some((node) => isTag(node) && node.name === 'rp'))
        say(element, `(${textOf(children)})`)
      return
    case 'q':
      return say(element, `"${textOf(children)}"`)
  }
}

function isStruck({ name, attribs }: Element): boolean {
  return STRUCK.test(name) || attribs['data-struck'] !== undefined
}

/** Marks text that is struck out, together with what continues it in elements after it: each block in it alone. */
function strike(element: Element): void {
  for (let { next } = element; next !== null && isTag(next) && isInline(next) && isStruck(next); next = element.next) {
    for (const child of [...next.children]) DomUtils.appendChild(element, child)
    DomUtils.removeElement(next)
  }
  let shown: Text[] = []
  const end = (): void => {
    const [first, last] = [shown[0], shown.at(-1)]
    if (first !== undefined) first.data = first.data.replace(/\S/, '~~$&')
    if (last !== undefined) last.data = last.data.replace(/(?<=\S)\s*$/, '~~$&')
    shown = []
  }
  const read = (nodes: readonly AnyNode[], depth = 0): void => {
    checkDepth(depth)
    for (const node of nodes)
      if (isText(node) && node.data.trim() !== '') shown.push(node)
      else if (isTag(node) && !isSkipped(node)) {
        if (isStruck(node)) [node.name, node.attribs] = [STRUCK.test(node.name) ? 'span' : node.name, {}]
        if (!isInline(node)) end()
        read(node.children, depth + 1)
        if (!isInline(node)) end()
      }
  }
  read(element.children)
  end()
  if (!isInline(element)) return
  // A replaced price is not one number with the new one.
  const { next } = element
  if (next !== null && (isTag(next) || (isText(next) && /^[\p{L}\p{N}]/u.test(next.data)))) DomUtils.appendChild(element, new Text(' '))
  if (/[\p{L}\p{N}]$/u.test(textBefore(element))) DomUtils.prependChild(element, new Text(' '))
}

function isInline({ name }: Element): boolean {
  return !BLOCKS.has(name) && name !== 'ul' && name !== 'ol'
}

function sayInput(element: Element): void {
  const { type = 'text', value = '', checked } = element.attribs
  // A meter may hold text.
  if (TYPED.test(type) && textOf(element.children) === '') say(element, apart(element, value))
  if (!/^(?:checkbox|radio)$/i.test(type) || (!CHECKABLE.has(parentName(element)) && !isLabelled(element))) return
  say(element, apart(element, checked === undefined ? '[ ] ' : '[x] '))
}

/** The options that a list shows as chosen: the first one, if none is marked. */
function chosenIn({ attribs, children }: Element): string {
  const options = children.flatMap((node) => (isTag(node) && node.name === 'optgroup' ? node.children : [node])).filter(isTag)
  const marked = options.filter((option) => option.attribs.selected !== undefined)
  const chosen = marked.length > 0 || attribs.multiple !== undefined ? marked : options.slice(0, 1)
  return chosen.map(({ attribs: { label }, children }) => label || textOf(children)).join(', ')
}

/** Whether a text or a label next to a check box names it, or what it is in. */
function isLabelled(box: Element): boolean {
  const isNamed = box.next !== null && isText(box.next) && /[\p{L}\p{N}]/u.test(box.next.data)
  const isSwitch = SWITCH.test(`${box.attribs.id ?? ''} ${box.attribs.class ?? ''}`)
  const isAround = [...ancestors(box, MOST_AROUND)].some(({ name }) => FORMS.has(name)) || /[\p{L}\p{N}]/u.test(textBefore(box))
  const labels = [DomUtils.prevElementSibling(box), DomUtils.nextElementSibling(box)]
  // The name of a tab stands before its panel.
  return isNamed || (!isSwitch && (isAround || labels.some((one) => one?.name === 'label' && textOf(one.children) !== '')))
}

/** Keeps the version of a part that a reader shows: a formula, or what is for others. */
function choose(versions: readonly AnyNode[]): void {
  const hasFormula = elementsIn(versions).some(({ name }) => /^(?:m(?:ml)?:)?math$/.test(name))
  for (const one of versions.filter(isTag)) if (/default$/.test(one.name) === hasFormula) DomUtils.removeElement(one)
}

function fontOf({ attribs: { face, style = '' } }: Element): string | undefined {
  return (FONT.exec(style)?.[1] ?? face?.replace(/,[^]*/, ''))?.trim()
}

/** Rewrites the text of an element, apart from those in it with a font of their own. */
function showSymbols(element: Element, font: string): void {
  const waiting = [element]
  for (let one = waiting.pop(); one !== undefined; one = waiting.pop())
    for (const node of one.children)
      if (isText(node)) node.data = symbolsIn(node.data, font)
      else if (isTag(node) && fontOf(node) === undefined) waiting.push(node)
}

function say(element: Element, text: string, attribs: Record<string, string> = {}): void {
  element.name = 'span'
  element.attribs = attribs
  setText(element, text)
}

function parentName({ parent }: Element): string {
  return parent !== null && isTag(parent) ? parent.name : ''
}

/** The text of a superscript or subscript: "10^6", "[1]" of a note, "H2O". */
function scriptText(element: Element): string {
  const [shown, whole] = [textOf(element.children), DomUtils.textContent(element.children)]
  // A space before or after it separates words.
  const text = shown === '' ? '' : `${/^\s/.test(whole) ? ' ' : ''}${shown}${/\s$/.test(whole) ? ' ' : ''}`
  const before = textBefore(element)
  const { name, next } = element
  if (name === 'sub') return /\d$/.test(before) && /^\d/.test(text) ? `_${text}` : text
  const under = DomUtils.nextElementSibling(element)
  // "3 1/2" is neither 31/2 nor 3^1/2.
  if (next !== null && isText(next) && /^\s*[/\u2044]\s*$/.test(next.data) && under?.name === 'sub')
    return /\d$/.test(before) ? ` ${text}` : text
  const { parent } = element
  const isLink = parent !== null && isTag(parent) && parent.name === 'a' && textOf(parent.children) === shown
  const hasLink = isLink || DomUtils.getElementsByTagName('a', element.children, true, 1).length > 0
  const after = next !== null && isTag(next) ? next.firstChild : next
  return raisedText(text, before, hasLink, after !== null && isText(after) ? after.data : '')
}

/** A text that is not one number with the digits after its element. */
function beforeNumber({ next }: Element, text: string): string {
  return /\d$/.test(text) && next !== null && isText(next) && /^\d/.test(next.data) ? `${text} ` : text
}

/** The last characters before an element in its block; empty at the block's start. */
function textBefore(element: Element): string {
  let node: AnyNode = element
  for (let i = 0; i < SEARCHED; i++) {
    let before: AnyNode | null = node.prev
    while (before !== null && isTag(before) && before.lastChild !== null && i++ < SEARCHED) before = before.lastChild
    if (before !== null && isText(before) && before.data !== '') return before.data.slice(-LONGEST_BEFORE)
    const next: AnyNode | null = before ?? node.parent
    if (next === null || (isTag(next) && BLOCKS.has(next.name))) return ''
    node = next
  }
  return ''
}

/** A text with spaces where it would join the words around it. */
function apart(element: Element, text: string): string {
  const { next } = element
  const isJoined = next !== null && (isTag(next) || (isText(next) && /^[\p{L}\p{N}(]/u.test(next.data)))
  return `${/\S$/.test(textBefore(element)) ? ' ' : ''}${text}${isJoined ? ' ' : ''}`
}

/** Alternative text of an image; empty if it is for decoration. */
function alternativeOf(element: Element): string {
  const { name, attribs, children } = element
  const title = name === 'svg' ? children.find((node) => isTag(node) && node.name === 'title') : undefined
  const text = attribs.alt ?? attribs['aria-label'] ?? (title !== undefined && isTag(title) ? textOf(title.children) : '')
  // An arrow of a link.
  const isMark = !/[\p{L}\p{N}]/u.test(text) && parentName(element) === 'a'
  return isMark || BADGE.test(attribs.src ?? '') || FILE_NAME.test(text) ? '' : text
}
