import type { Unread } from './contract.ts'
import { leftOf, type Item } from './pdf-letters.ts'

/** An annotation as pdf.js returns it. */
export interface Annotation {
  readonly subtype: string
  /** Its left, lower, right and upper edge. */
  readonly rect: readonly number[]
  readonly annotationFlags?: number
  readonly contentsObj?: { readonly str: string }
  readonly fieldType?: string
  readonly fieldValue?: unknown
  readonly checkBox?: boolean
  readonly radioButton?: boolean
  readonly password?: boolean
  /** Values of a check box and of a radio button that is switched on. */
  readonly exportValue?: string
  readonly buttonValue?: string
  /** Shows its value alone, not all of its options. */
  readonly combo?: boolean
  readonly options?: readonly { readonly exportValue: string; readonly displayValue: string }[]
}

const HIDDEN = 0x22
/** Default font size of a field without adjacent text, in points. */
const HEIGHT = 10
const NO_COMMENTS = new Set(['Link', 'Popup', 'Widget', 'FreeText'])

/** Inserts the values of form fields and text boxes into the items of a page, after their labels. Counts comments, and options that are not shown, as not read. */
export function addFields(items: Item[], annotations: readonly Annotation[], unread: Unread): void {
  const shown = annotations.filter(({ annotationFlags = 0 }) => (annotationFlags & HIDDEN) === 0)
  const fields = shown.map((one) => ({ text: textOf(one), rect: one.rect })).filter(({ text }) => text !== '')
  for (const field of fields.toSorted((a, b) => Number(a.rect[0]) - Number(b.rect[0]))) addField(items, field)
  for (const { subtype, contentsObj, combo, options = [], fieldValue } of shown) {
    if (!NO_COMMENTS.has(subtype) && contentsObj !== undefined && contentsObj.str !== '') unread.add('comments')
    if (combo === true)
      unread.add(
        'options that are not chosen',
        options.filter((one) => one.displayValue.trim() !== '' && !isChosen(one, fieldValue)).length,
      )
  }
}

type Option = NonNullable<Annotation['options']>[number]

function isChosen({ exportValue }: Option, value: unknown): boolean {
  return [value].flat().includes(exportValue)
}

function textOf({ subtype, fieldType, fieldValue, ...field }: Annotation): string {
  if (subtype === 'FreeText') return field.contentsObj?.str ?? ''
  if (subtype !== 'Widget' || field.password === true) return ''
  if (field.checkBox === true) return fieldValue === field.exportValue ? '[x]' : '[ ]'
  if (field.radioButton === true) return fieldValue === field.buttonValue ? '[x]' : '[ ]'
  // A list shows all of its options.
  if (fieldType === 'Ch' && field.combo !== true && field.options !== undefined)
    return field.options.map((one) => `[${isChosen(one, fieldValue) ? 'x' : ' '}] ${one.displayValue}`).join(', ')
  const values = fieldType === 'Tx' || fieldType === 'Ch' ? [fieldValue].flat().filter((one) => typeof one === 'string') : []
  return values.map((value) => field.options?.find(({ exportValue }) => exportValue === value)?.displayValue ?? value).join(', ')
}

function addField(items: Item[], { text, rect }: { readonly text: string; readonly rect: readonly number[] }): void {
  const [left = 0, low = 0, , high = 0] = rect
  const isBeside = (item: Item): boolean => item.str.trim() !== '' && baseOf(item) > low - item.height / 2 && baseOf(item) < high
  const label = items.findLastIndex((item) => isBeside(item) && leftOf(item) <= left)
  const isLabelled = label >= 0
  const next = isLabelled ? -1 : items.findIndex(isBeside)
  const adjacent = items[isLabelled ? label : next]
  const [height, base] = adjacent === undefined ? [HEIGHT, low] : [adjacent.height, baseOf(adjacent)]
  const field: Item = {
    str: isLabelled ? ` ${text}` : next >= 0 ? `${text} ` : text,
    dir: 'ltr',
    fontName: '',
    hasEOL: false,
    transform: [height, 0, 0, height, left, base],
    width: (text.length * height) / 2,
    height,
  }
  if (isLabelled) items.splice(label, 1, { ...items[label], hasEOL: false } as Item, { ...field, hasEOL: adjacent?.hasEOL === true })
  else if (next >= 0) items.splice(next, 0, field)
  else {
    // A line of its own, below the last text above it.
    const above = items.findLastIndex((item) => item.str.trim() !== '' && baseOf(item) >= high)
    const end = items.findIndex((item, i) => i >= above && item.hasEOL)
    if (above >= 0 && end < 0) items.push({ ...field, str: '', hasEOL: true })
    items.splice(above < 0 ? 0 : end < 0 ? items.length : end + 1, 0, { ...field, hasEOL: true })
  }
}

function baseOf({ transform }: Item): number {
  return Number(transform[5])
}
