import { Element, isTag, Text } from 'domhandler'
import { DomUtils } from 'htmlparser2'
import { ancestors, isHidden, textOf } from './text.ts'

/** Elements that a button in them names. */
const NAMES = new Set(['dt', 'summary', 'legend', 'caption'])
const OPENS = /accordion|collaps|expand|faq|question|disclosure/i
/** Names of parts that open on a click, perhaps in others, and of parts that are shown at other times. */
const OPENED = /accordion|collaps|expand|faq|question|answer|disclosure|toggle|spoiler|\btabs?\b|tab-?content|panel|details|\bmore/i
const OTHER = /modal|pop-?up|cookie|consent|dialog|menu|\bnav|search|error|alert|loading|template|tooltip|overlay|banner|subscri/i
/** Names of panels of tabs. */
const PANEL = /\btab-?(?:pane|content|panel)|\btabs-panel/i
const MOST_ABOVE = 3
const CHROME =
  /^\W*(?:menu|navigation|toggle\b.*|search|close|open|copy|share|show (?:more|less|all)|(?:expand|collapse)(?: all)?|more|less)\W*$/i

/** Keeps what opens on a click: buttons that name a part of the page, hidden parts, and tabs, whose names are put before their panels. */
export function namePanels(elements: readonly Element[]): void {
  const paneled = new Set(elements.flatMap(({ attribs }) => (attribs.id && PANEL.test(attribs.class ?? '') ? [attribs.id] : [])))
  const switches = elements.filter((one) => /^(?:tab|pill)$/.test(openerOf(one) ?? '') || targetsOf(one).some((id) => paneled.has(id)))
  const all = new Set([...elements.filter(({ attribs }) => attribs.role === 'tab'), ...switches])
  const tabs = elements.filter((element) => all.has(element))
  const switched = new Set(switches.flatMap(targetsOf))
  const panels = elements.filter(({ attribs }) => attribs.role === 'tabpanel' || switched.has(attribs.id ?? ''))
  const [opened, linked] = [new Set<string>(), new Set<string>()]
  for (const element of elements) {
    const targets = targetsOf(element)
    const isOpener = element.name === 'button' || /^(?:button|tab)$/.test(element.attribs.role ?? '') || openerOf(element) !== undefined
    for (const id of targets) (isOpener ? opened : linked).add(id)
    if (element.name !== 'button' || !isName(element)) continue
    const heading = headingAround(element)
    element.name = heading === undefined ? 'p' : 'span'
    const panel = DomUtils.nextElementSibling(heading ?? element)
    if (targets.length === 0 && panel !== null) show(panel)
  }
  for (const element of elements) {
    const { id = '', role, hidden } = element.attribs
    if (role === 'tabpanel' || opened.has(id) || hidden === 'until-found' || opens(element, linked)) show(element)
  }
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

/** Ids of what a button or link opens. */
function targetsOf({ attribs }: Element): string[] {
  const { href = '', onclick = '', 'aria-controls': controls, 'data-target': target, 'data-bs-target': own } = attribs
  const named = onclick.match(/(?<=["'])#?[\w-]+(?=["'])/g) ?? []
  const all = [controls, target, own, href.startsWith('#') ? href : ''].flatMap((one) => one?.split(/\s+/) ?? [])
  return [...all, ...named].map((one) => one.replace(/^#/, '')).filter((one) => one !== '')
}

/** Whether a hidden part is named as one that opens on a click, is linked to, or is all that a heading or a term has below it. */
function opens(element: Element, linked: ReadonlySet<string>): boolean {
  const { hidden, style = '' } = element.attribs
  if (hidden === undefined && !/display\s*:\s*none/i.test(style)) return false
  const names = [element, ...ancestors(element, MOST_ABOVE)].map(({ attribs }) => `${attribs.class ?? ''} ${attribs.id ?? ''}`).join(' ')
  if (OTHER.test(names)) return false
  if (linked.has(element.attribs.id ?? '')) return true
  const [before, after] = [DomUtils.prevElementSibling(element), DomUtils.nextElementSibling(element)]
  if (before === null || isHidden(before) || !/^(?:h[1-6]|dt)$/.test(before.name)) return OPENED.test(names)
  const above = DomUtils.prevElementSibling(before)
  const isLast = above !== null && DomUtils.prevElementSibling(above)?.name === before.name
  return after === null || after.name === before.name || isLast || OPENED.test(names)
}

function isName(button: Element): boolean {
  const { role, class: names, 'aria-controls': controls, 'aria-expanded': opener = controls } = button.attribs
  const text = textOf(button.children)
  if (text === '' || CHROME.test(text)) return false
  if (role === 'tab' || opener !== undefined || /[?\uff1f]$/.test(text)) return true
  return headingAround(button) !== undefined || OPENS.test(`${names ?? ''} ${openerOf(button) ?? ''}`)
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
