import { Element, isTag, Text } from 'domhandler'
import { DomUtils } from 'htmlparser2'
import { ancestors, textOf } from './text.ts'

/** Elements that a button in them names. */
const NAMES = new Set(['dt', 'summary', 'legend', 'caption'])
const OPENS = /accordion|collaps|expand|faq|question|disclosure/i
const CHROME =
  /^\W*(?:menu|navigation|toggle\b.*|search|close|open|copy|share|show (?:more|less|all)|(?:expand|collapse)(?: all)?|more|less)\W*$/i

/** Keeps what opens on a click: buttons that name a part of the page, hidden parts, and tabs, whose names are put before their panels. */
export function namePanels(elements: readonly Element[]): void {
  const switches = elements.filter((element) => /^(?:tab|pill)$/.test(openerOf(element) ?? ''))
  const all = new Set([...elements.filter(({ attribs }) => attribs.role === 'tab'), ...switches])
  const tabs = elements.filter((element) => all.has(element))
  const switched = new Set(switches.flatMap(targetsOf))
  const panels = elements.filter(({ attribs }) => attribs.role === 'tabpanel' || switched.has(attribs.id ?? ''))
  const opened = new Set<string>()
  for (const element of elements) {
    const { role = '' } = element.attribs
    const opener = openerOf(element)
    if (element.name !== 'button' && !/^(?:button|tab)$/.test(role) && opener === undefined) continue
    const targets = targetsOf(element)
    for (const id of targets) opened.add(id)
    if (element.name !== 'button' || !isName(element)) continue
    const heading = headingAround(element)
    element.name = heading === undefined ? 'p' : 'span'
    const panel = DomUtils.nextElementSibling(heading ?? element)
    if (targets.length === 0 && panel !== null) show(panel)
  }
  for (const element of elements)
    if (element.attribs.role === 'tabpanel' || opened.has(element.attribs.id ?? '') || element.attribs.hidden === 'until-found')
      show(element)
  const isPaired = tabs.length === panels.length
  for (const [i, panel] of panels.entries()) {
    const { id = '', 'aria-labelledby': label } = panel.attribs
    const isOf = (tab: Element): boolean =>
      (id !== '' && targetsOf(tab).includes(id)) || (tab.attribs.id !== undefined && tab.attribs.id === label)
    moveName(tabs.find(isOf) ?? (isPaired ? tabs[i] : undefined), panel)
  }
  const radios = new Set(elements.flatMap(({ attribs: { type, id } }) => (type === 'radio' && id !== undefined ? [id] : [])))
  const labelling = elements.filter(({ name, attribs }) => name === 'label' && radios.has(attribs.for ?? ''))
  for (const group of new Set(labelling.map(({ parent }) => parent))) {
    if (group === null || !isTag(group) || !/\btab/i.test(group.attribs.class ?? '')) continue
    const blocks = DomUtils.nextElementSibling(group)?.children.filter(isTag) ?? []
    const labels = group.children.filter(isTag).filter(({ name }) => name === 'label')
    // Tabs that switch without scripts: labels next to each other, above as many panels.
    if (blocks.length === labels.length && labels.length > 1 && blocks.every(({ name }) => name === 'div' || name === 'section'))
      for (const block of blocks) moveName(labels.shift(), block)
  }
}

/** Puts a tab's name before its panel. */
function moveName(tab: Element | undefined, panel: Element): void {
  const name = textOf(tab?.children ?? [])
  if (tab === undefined || name === '') return
  DomUtils.prependChild(panel, new Element('p', {}, [new Text(`${name}:`)]))
  tab.children = []
}

function openerOf({ attribs: { 'data-toggle': toggle, 'data-bs-toggle': opener = toggle } }: Element): string | undefined {
  return opener
}

/** Ids of what a button opens. */
function targetsOf({ attribs }: Element): string[] {
  const targets = [attribs['aria-controls'], attribs['data-target'], attribs['data-bs-target'], attribs.href]
  return targets.flatMap((target) => target?.split(/\s+/) ?? []).map((target) => target.replace(/^#/, ''))
}

function isName(button: Element): boolean {
  const { attribs, children } = button
  const text = textOf(children)
  if (text === '' || CHROME.test(text)) return false
  return (
    headingAround(button) !== undefined ||
    attribs.role === 'tab' ||
    attribs['aria-controls'] !== undefined ||
    attribs['aria-expanded'] !== undefined ||
    OPENS.test([attribs.class, attribs['data-toggle'], attribs['data-bs-toggle']].join(' ')) ||
    /[?\uff1f]$/.test(text)
  )
}

/** The heading, or another name of a part, that a button is in. */
function headingAround(element: Element): Element | undefined {
  for (const above of ancestors(element))
    if (/^h[1-6]$/.test(above.name) || NAMES.has(above.name) || above.attribs.role === 'heading') return above
    else if (above.name === 'div' || above.name === 'section' || above.name === 'body') return undefined
  return undefined
}

function show(element: Element): void {
  const { hidden: _, style = '', ...others } = element.attribs
  element.attribs = { ...others, ...(!/display|visibility/.test(style) && { style }) }
}
