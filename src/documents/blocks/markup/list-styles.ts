import { Element, isTag } from 'domhandler'
import { DomUtils } from 'htmlparser2'
import { numberText, STYLE } from './list.ts'
import { ancestors } from './text.ts'

/** A rule of a style sheet for one selector. */
export interface Rule {
  readonly selector: string
  readonly style: string
}

/** Selectors of lists: of a class, in so many others, and of what stands before their items. */
const [OF_CLASS, IN_OTHERS, BEFORE] = [
  /^(?:[ou]l)?\.([\w-]+)(?:\s*>?\s*li)?$/i,
  /^ol(?:\s+ol)*$/i,
  /^[ou]?l?\.([\w-]+)\s*>?\s*li::?before$/i,
]
/** A text before items that counts them, and its parts. */
const COUNTED = /content\s*:([^;]*\bcounter\([^;]*)/i
const PARTS = /"([^"]*)"|\bcounter\(\s*([\w-]+)\s*(?:,\s*([\w-]+)\s*)?\)/gi
/** Names of the lists of Google Docs, with their levels. */
const LEVEL = /(?:^|\s)(lst-kix_\w+)-(\d)(?:\s|$)/
const MOST_ABOVE = 9

/** Numbers lists as the style sheet of their page does, and puts those of Google Docs, which follow each other, into each other. */
export function styleLists(elements: readonly Element[], rules: readonly Rule[]): void {
  const formats = new Map<string, string>()
  const marks = new Map<string, string>()
  for (const { selector, style } of rules) {
    const [, format = 'none'] = STYLE.exec(style) ?? []
    const name = OF_CLASS.exec(selector)?.[1] ?? IN_OTHERS.exec(selector)?.[0].replace(/\s+/g, ' ')
    // Lists without numbers may have others, which a style draws.
    if (name !== undefined && format !== 'none') formats.set(name, format)
    const [, before, content = COUNTED.exec(style)?.[1]] = BEFORE.exec(selector) ?? []
    if (before !== undefined && content !== undefined) marks.set(before, content)
  }
  const counts = new Map<string, number>()
  for (const list of elements) {
    if (list.name !== 'ol' && list.name !== 'ul') continue
    const names = list.attribs.class?.split(/\s+/) ?? []
    const around = formats.size === 0 ? 0 : [...ancestors(list, MOST_ABOVE)].filter(({ name }) => name === 'ol').length
    const depths = Array.from({ length: around + 1 }, (_, i) => `ol${' ol'.repeat(around - i)}`)
    const format = [...names, ...(list.name === 'ol' ? depths : [])].map((name) => formats.get(name)).find((one) => one !== undefined)
    if (format !== undefined) list.attribs.type = format
    const content = names.map((name) => marks.get(name)).find((one) => one !== undefined)
    if (content !== undefined) numberItems(list, content, counts)
    nest(list)
  }
}

/** Marks items by the text before them, whose last counter counts them. */
function numberItems(list: Element, content: string, counts: Map<string, number>): void {
  const parts = [...content.matchAll(PARTS)]
  const own = parts.findLast(([, , name]) => name !== undefined)?.[2] ?? ''
  const { start } = list.attribs
  if (start !== undefined) counts.set(own, Number(start) - 1)
  for (const item of list.children) {
    if (!isTag(item) || item.name !== 'li') continue
    counts.set(own, (counts.get(own) ?? 0) + 1)
    const shown = parts.map(([, text, name = '', format]) => text ?? numberText(counts.get(name) ?? 0, format))
    item.attribs['data-mark'] = shown.join('').trim()
  }
}

/** Puts a list into the one before it, if that is of a higher level. */
function nest(list: Element): void {
  const before = DomUtils.prevElementSibling(list)
  const [, name, level] = LEVEL.exec(list.attribs.class ?? '') ?? []
  const [, nameBefore, levelBefore] = LEVEL.exec(before?.attribs.class ?? '') ?? []
  const depth = Number(level) - Number(levelBefore)
  if (before === null || !(depth > 0 || (depth === 0 && name === nameBefore))) return
  DomUtils.removeElement(list)
  let inner: Element = list
  for (let i = 1; i < depth; i++) {
    const outer = new Element('ul', {})
    DomUtils.appendChild(outer, inner)
    inner = outer
  }
  for (const child of depth === 0 ? [...list.children] : [inner]) DomUtils.appendChild(before, child)
}
