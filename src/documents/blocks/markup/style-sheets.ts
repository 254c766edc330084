import type { Element } from 'domhandler'
import { DomUtils } from 'htmlparser2'

const COMMENT = /\/\*(?:[^]*?\*\/|[^]*)/g
/** A small text that is moved, as LibreOffice writes scripts of EPUB. */
const [SMALL, SHIFTED] = [/font-size\s*:\s*0?\.\d/i, /position\s*:\s*relative\s*;\s*top\s*:\s*(-?)0?\.\d/i]
/** A class, perhaps of one kind of element. */
const CLASS = /^\s*(?:span)?\.([\w-]+)\s*$/i

/** Names the elements that raise, lower or strike out text by a style or a class after what they show. @param linked style sheets outside the page */
export function nameScripts(elements: readonly Element[], linked = ''): void {
  const inside = elements.filter(({ name }) => name === 'style').map(({ children }) => DomUtils.textContent(children))
  const scripts = new Map<string, ReturnType<typeof scriptIn>>()
  for (const rule of [linked, ...inside].join('\n').replace(COMMENT, '').split('}')) {
    const [selectors = '', style] = rule.split('{').slice(-2)
    const script = scriptIn(style)
    const names = script === undefined ? [] : selectors.split(',').flatMap((one) => CLASS.exec(one)?.[1] ?? [])
    for (const name of names) scripts.set(name, script)
  }
  for (const element of elements) {
    const { style, class: names = '' } = element.attribs
    const script = scriptIn(style) ?? names.split(/\s+/).flatMap((name) => scripts.get(name) ?? [])[0]
    if (element.name === 'span' && script !== undefined) element.name = script
  }
}

function scriptIn(style = ''): 'sup' | 'sub' | 'del' | undefined {
  const [, script] = /vertical-align\s*:\s*(sup|sub)/i.exec(style) ?? []
  if (script !== undefined) return script.toLowerCase() === 'sup' ? 'sup' : 'sub'
  const [, up] = (SMALL.test(style) && SHIFTED.exec(style)) || []
  if (up !== undefined) return up === '-' ? 'sup' : 'sub'
  return /text-decoration[\w-]{0,20}\s{0,9}:[^;]{0,99}line-through/i.test(style) ? 'del' : undefined
}
