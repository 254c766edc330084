import { Element, isTag, isText, Text } from 'domhandler'
import { DomUtils } from 'htmlparser2'
import { ancestors, textOf } from './text.ts'

const REFERENCE = /\bfootnote(?:-?ref(?:erence)?)?\b|\bfn-?ref\b|\bnoteref\b/
/** Notes in pages that Word has saved. */
const OFFICE = /^#_(?:ftn|edn)\d+$/
/** Sources cited in an encyclopedia, which would interrupt the text. */
const CITATION = /\b(?:cite|citation|bib|reference)s?\b/
const NOTES = new Set(['li', 'aside', 'div', 'p', 'dd', 'tr', 'section'])
/** What a note comes after, and what it is put into where there is none of these. */
const AFTER = new Set(['p', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'dt', 'pre', 'figcaption'])
const HOLDERS = new Set(['li', 'td', 'th', 'dd', 'blockquote', 'div'])
const BACK = /^(?:[\s\u21a9\u2191^]|\ufe0e)*$/
const LONGEST_LABEL = 8
const MOST_ABOVE = 20

/** Moves notes at the end of a page to their first references: "[1] The note." */
export function placeNotes(elements: readonly Element[]): void {
  for (const element of elements) if (isMarked(element)) setText(element, `[${labelOf(element)}]`)
  const references = elements.filter(isReference)
  if (references.length === 0) return
  const positions = new Map(elements.map((element, i) => [element, i]))
  const byId = new Map<string, Element>()
  for (const element of elements)
    // Office programs name links.
    for (const id of [element.attribs.id, element.name === 'a' ? element.attribs.name : undefined])
      if (id !== undefined && !byId.has(id)) byId.set(id, element)
  const last = new Map<Element, Element>()
  for (const reference of references) {
    const id = (reference.attribs.href ?? '').slice(1)
    const target = byId.get(id)
    const place = [...ancestors(reference, MOST_ABOVE)].find(({ name }) => AFTER.has(name) || HOLDERS.has(name))
    // A note is after its reference: a link back is no reference.
    if (target === undefined || place === undefined || (positions.get(target) ?? 0) < (positions.get(reference) ?? 0)) continue
    const note = noteAt(target)
    if (note === undefined || [place, ...ancestors(place)].includes(note)) continue
    byId.delete(id)
    const placed = new Element('p', {}, [])
    DomUtils.appendChild(placed, new Text(textOfNote(note, reference)))
    DomUtils.removeElement(note)
    if (!isRaised(reference)) setText(reference, `[${labelOf(reference)}]`)
    if (HOLDERS.has(place.name)) DomUtils.appendChild(place, placed)
    else DomUtils.append(last.get(place) ?? place, placed)
    last.set(place, placed)
  }
}

/** Whether a reference that is not raised is marked as one, or stands after a number: its note may be elsewhere. */
function isMarked(element: Element): boolean {
  const { name, attribs, children, prev } = element
  const { role = '', 'epub:type': kind = '', href = '' } = attribs
  const isAfterNumber = /^#./.test(href) && prev !== null && isText(prev) && /\d$/.test(prev.data)
  const isNote = name === 'a' && (isAfterNumber || REFERENCE.test(`${role} ${kind}`))
  return isNote && !isRaised(element) && /^\d+$/.test(textOf(children))
}

/** Replaces what is in an element. */
export function setText(element: Element, text: string): void {
  element.children = []
  DomUtils.appendChild(element, new Text(text))
}

function isReference(element: Element): boolean {
  const { name, attribs, children } = element
  const { href = '', role = '', 'epub:type': kind = '', class: names = '' } = attribs
  if (name !== 'a' || !/^#./.test(href) || CITATION.test(href) || textOf(children).length > LONGEST_LABEL) return false
  return REFERENCE.test(`${role} ${kind} ${names}`) || OFFICE.test(href) || isRaised(element)
}

function isRaised({ parent, children }: Element): boolean {
  return [parent, ...children].some((one) => one !== null && isTag(one) && one.name === 'sup' && !CITATION.test(one.attribs.class ?? ''))
}

/** The element that an address names, its description or the paragraph after it. */
function noteAt(target: Element): Element | undefined {
  for (const one of [target, ...ancestors(target, MOST_ABOVE - 1)]) {
    if (NOTES.has(one.name)) return one
    if (one.name !== 'dt' && !/^h[1-6]$/.test(one.name)) continue
    const next = DomUtils.nextElementSibling(one)
    if (next === null || (next.name !== 'dd' && next.name !== 'p')) return undefined
    DomUtils.removeElement(one)
    return next
  }
  return undefined
}

/** A note with its label, without links back. */
function textOfNote(note: Element, reference: Element): string {
  const label = labelOf(reference)
  for (const link of DomUtils.getElementsByTagName('a', note.children, true)) {
    const text = textOf(link.children)
    if (/^#/.test(link.attribs.href ?? '') && (BACK.test(text) || labelOf(link) === label)) DomUtils.removeElement(link)
  }
  const own = new RegExp(`^(?:[[(]?${label.replace(/[^\p{L}\p{N}]/gu, '\\$&')}[\\]).:]*|\\[\\]|\\(\\))\\s+`)
  return `[${label}] ${textOf(note.children).replace(own, '')}`
}

/** The mark of a note, without brackets. */
function labelOf({ children }: Element): string {
  return textOf(children).replace(/^[[(]|[\])]$/g, '')
}
