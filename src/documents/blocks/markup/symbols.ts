import { codePoint } from 'dingbat-to-unicode'
import type { Element } from 'domhandler'
import { ancestors, textOf } from './text.ts'

/** A letter that each font of symbols has. */
const ANY = 0x41
/** Letters of a font of symbols, as themselves or in Unicode's area for private use; of other fonts only the latter may be symbols. */
const LETTERS = /[!-~\u00a1-\u00ff\uf020-\uf0ff]/g
const PRIVATE = /[\uf020-\uf0ff]/g
/** Bullets that say something: check marks, crosses, and boxes with them. */
const SAYING = /[\u2610-\u2612\u2705\u2713-\u2718\u274c\u274e\u{1f5f4}-\u{1f5f9}]/u

/** What ZapfDingbats shows at codes whose places in Unicode's block of it other signs have. */
const DINGBATS = new Map(
  'n\u25a0 l\u25cf s\u25b2 t\u25bc u\u25c6 w\u25d7 H\u2605 %\u260e *\u261b +\u261e'
    .split(' ')
    .map((pair) => [pair.charAt(0), pair.charAt(1)]),
)

/** What the letters of a text show in ZapfDingbats. */
export function dingbatsIn(text: string): string {
  return text.replace(/[!-~]/g, (letter) => DINGBATS.get(letter) ?? String.fromCharCode(0x26e0 + letter.charCodeAt(0)))
}

/** The mark of an item: "-" for a bullet that says nothing. */
export function bulletMark(bullet = '', font?: string): string {
  return SAYING.exec(symbolsIn(bullet, font))?.[0] ?? '-'
}

/** A text with the symbols that its letters show in a font like Symbol or Wingdings; of another font as it is. */
export function symbolsIn(text: string, font = '', { areAll = true } = {}): string {
  // LibreOffice numbers fonts of equal names.
  const name = font.replace(/(?<=[a-z])1$/, '')
  if (codePoint(name, ANY) === undefined) return text
  return text.replace(areAll ? LETTERS : PRIVATE, (letter) => codePoint(name, letter.charCodeAt(0) & 0xff)?.string ?? letter)
}

/** Icons of fonts, which tables of features have. */
const ICON = /(?:^|[\s_-])(?:fa[a-z]?|bi|ti|ri|mdi|icons?|glyphicon|dashicons)(?:[\s_-]|$)/
const FORM = String.raw`(?:-(?:circle|square|mark|lg|alt|fill|o))*(?:\s|$)`
const TICK = new RegExp(`(?:^|[\\s-])(?:check|tick|ok|yes)${FORM}`)
const CROSS = new RegExp(`(?:^|[\\s-])(?:times|xmark|x|cross|remove|no)${FORM}`)
const MOST_ABOVE = 3

/** What an empty element shows by a style: its label, or a mark that is all a cell of a table holds. */
export function iconText(element: Element): string | undefined {
  const { name, attribs, children } = element
  if (!/^(?:i|span|div)$/.test(name) || (attribs.role !== 'img' && attribs.class === undefined) || textOf(children) !== '') return undefined
  const { 'aria-label': label, title = label, class: names = '' } = attribs
  if (attribs.role === 'img') return label
  const cell = [...ancestors(element, MOST_ABOVE)].find((above) => above.name === 'td')
  if (name === 'div' || !ICON.test(names) || cell === undefined || textOf(cell.children) !== '') return undefined
  const sign = TICK.test(names) ? '\u2713' : CROSS.test(names) ? '\u2717' : undefined
  return sign === undefined ? undefined : (title ?? sign)
}

/** A check box that an export draws by a class, and values of attributes that switch one on. */
const [BOX, CHECKED] = [/\bcheckbox-(on|off)\b/, /^(?:on|true|done|checked)$/i]

/** What shows the state of a check box that is no input: that of an export or an editor, or of a task of Confluence. */
export function boxOf({ name, attribs }: Element): string | undefined {
  const { class: names = '', role = '', 'aria-checked': checked, 'data-list': list = '', 'data-inline-task-id': task } = attribs
  const own = BOX.exec(names)?.[1] ?? attribs['data-checked'] ?? attribs['data-task-state'] ?? /^(?:un)?checked$/.exec(list)?.[0]
  const inRole = /^(?:checkbox|radio|switch)$/.test(role) && name !== 'input' ? checked : undefined
  const state = own ?? inRole ?? (task === undefined ? undefined : (/(?<![\w-])checked(?![\w-])/.exec(names)?.[0] ?? ''))
  return state === undefined ? undefined : CHECKED.test(state) ? '[x] ' : '[ ] '
}
