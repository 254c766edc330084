import { at } from '../../../../base/at.ts'
import { numberText, romanValue } from '../markup/list.ts'
import type { DocumentType } from '../../type.ts'

/** Marks of items by level, with the names of LaTeX for their numbers, and what AsciiDoc calls them. */
const LABELS = ['\\arabic*.', '\\alph*.', '\\roman*.', '\\Alph*.', '\\Roman*.'] as const
const STYLES = ['arabic', 'loweralpha', 'lowerroman', 'upperalpha', 'upperroman']
const MOST_LEVELS = 9
const TEX_LEVELS = ['i', 'ii', 'iii', 'iv']
/** The names of LaTeX for numbers, and the signs of the package enumerate. */
const FORMATS: Readonly<Record<string, string>> = { arabic: '1', alph: 'a', Alph: 'A', roman: 'i', Roman: 'I' }
/** What is between two braces, which may have others in it. */
export const BRACED = String.raw`(?:\\.|[^{}\\]|\{(?:\\.|[^{}\\]|\{(?:\\.|[^{}\\])*\})*\})*`
/** How a document marks items of a level. */
export const TEX_LABEL = String.raw`\\(?:def|renewcommand\*?)\s*\{?\\(?<kind>label|the)enum(?<labelled>i{1,3}|iv)\}?\s*\{(?<label>${BRACED})\}`
/** Marks of the package enumitem, perhaps after that of the item around. */
const TEX_OWN = new RegExp(String.raw`label(\*?)=((?:\{${BRACED}\}|[^,{}])*)`)
const TEX_COUNTER = String.raw`\\(?<change>set|addto)counter\{enum(?<counted>i{1,3}|iv)\}\{(?<number>-?\d+)\}`
const TEX_ITEM = String.raw`\s*(?<!\\)(?<item>\\item)\b\s*(?=(?<own>\[)?)`
const TEX_LIST = new RegExp(
  String.raw`\\(?:begin\{(?<mark>itemize|enumerate|description)\}(?:\[(?<options>[^\]]*)\])?|end\{(?:itemize|enumerate|description)\})|${TEX_LABEL}|${TEX_COUNTER}|${TEX_ITEM}`,
  'g',
)
/** A mark of the package enumerate: its letter stands for the number. */
const TEX_SIGN = /(?<![A-Za-z])[aAiI](?![A-Za-z])|1/
const TEX_SHORT = (sign: string): string => `\\${Object.keys(FORMATS).find((name) => FORMATS[name] === sign)}*`

/** A comment after a text without commands whose argument may hold its mark. */
const TEX_COMMENT = /^((?:\\(?!verb|url|href|lstinline)[^]|[^%\\])*)%.*$/

/** A list that is open: how its items are marked, and the number of its last one. */
interface OpenList {
  readonly mark: string
  /** Its numbers as LaTeX writes them; empty for bullets. */
  label: string
  count: number
  /** What the next number is above this one. Default: 1. */
  readonly step?: number
}

/** The mark of the next item of the innermost list. */
function nextMark(list: OpenList | undefined): string {
  if (list !== undefined) list.count += list.step ?? 1
  return markOf(list) || '-'
}

/** The mark of the last item; empty for bullets. */
function markOf(list: OpenList | undefined): string {
  return list?.label.replace(/\\(\w+)\*/, (_, format: string) => numberText(list.count, FORMATS[format])) ?? ''
}

/** A letter, or a Roman number, that marks an item at the left edge. */
const LETTERED = /^\(?([a-z]|[ivxlc]+)[.)]\s+\S/i

/** Whether a letter or Roman number is the next one of a list. */
function follows(letters: string, last: string): boolean {
  if (last === '' || /[a-z]/.test(letters) !== /[a-z]/.test(last)) return false
  const isNextLetter = letters.length === 1 && last.length === 1 && letters.charCodeAt(0) === last.charCodeAt(0) + 1
  return isNextLetter || romanValue(letters) === (romanValue(last) ?? 0) + 1
}

/** Makes lines of lists such as plain text has them, with the numbers that a document shows. */
export const LIST_LINES: Partial<Record<DocumentType, () => (line: string, before: string) => string[]>> = {
  rst: () => {
    /** Last numbers of the open lists, by what stands before them. */
    const counts = new Map<string, number>()
    /** The last item that is marked by a letter at the left edge. */
    let last = ''
    return (line, before) => {
      const [, letters = ''] = LETTERED.exec(line) ?? []
      const isFirst = before.trim() === '' && /^[ai]$/i.test(letters)
      if (letters !== '' && (isFirst || follows(letters, last))) {
        last = letters
        return ['', line]
      }
      const [, indent = '', number] = /^(\s*)(?:(#|\d+)\.\s)?/.exec(line) ?? []
      if (indent === line) return [line]
      for (const one of counts.keys()) if (one.length >= indent.length && (number === undefined || one !== indent)) counts.delete(one)
      if (number === undefined) return [line]
      const count = number === '#' ? (counts.get(indent) ?? 0) + 1 : Number(number)
      counts.set(indent, count)
      return [line.replace(/^(\s*)#/, `$1${count}`)]
    }
  },
  org: () => {
    let mark = -1
    // A list needs no blank line before it, and ends with a line that is not indented below its mark.
    return (line) => {
      const [left, isItem] = [line.search(/\S/), /^\s*(?:[-+]|\d+[.)])\s/.test(line)]
      const isNext = isItem || (left >= 0 && left <= mark)
      if (isNext) mark = isItem ? left : -1
      return isNext ? ['', line] : [line]
    }
  },
  asciidoc: () => {
    let open: OpenList[] = []
    return (line, before) => {
      // A block's title.
      if (/^\.\w/.test(line)) return ['', line.slice(1), '']
      const [, mark, text = ''] = /^\s*(\.{1,5}|\*{1,5}|-)\s+(.*)$/.exec(line) ?? []
      if (mark === undefined) {
        if (before.trim() === '' && !/^\+?\s*$/.test(line)) open = []
        return [line]
      }
      const known = open.findIndex((one) => one.mark === mark)
      const step = /^\[.*\breversed\b/.test(before) ? -1 : 1
      const count = Number(/^\[.*start=(\d+)/.exec(before)?.[1] ?? 1) - step
      const style = STYLES.indexOf(/^\[(\w+)/.exec(before)?.[1] ?? '')
      const label = mark.startsWith('.') ? (LABELS.at(style < 0 ? mark.length - 1 : style) ?? LABELS[0]) : ''
      open = known < 0 ? [...open, { mark, label, count, step }] : open.slice(0, known + 1)
      const item = `${'  '.repeat(open.length - 1)}${nextMark(open.at(-1))} ${text}`
      // Plain text has no such marks of items at the left edge.
      return /^[A-Za-z]/.test(item) ? ['', item] : [item]
    }
  },
  latex: () => {
    const open: OpenList[] = []
    /** By level: the marks of further lists, and the last numbers of ended ones. */
    const labels = LABELS.map((label) => (label.includes('alph') ? `(${label.slice(0, -1)})` : label))
    const ended: number[] = []
    const numbered = (): OpenList[] => open.filter(({ mark }) => mark === 'enumerate')
    const labelOf = (options: string): string => {
      const [, isAdded, own] = TEX_OWN.exec(options) ?? []
      if (own !== undefined) return (isAdded === '' ? '' : markOf(numbered().at(-1))) + starred(own)
      if (/^[^=\\]+$/.test(options) && TEX_SIGN.test(options)) return options.replace(TEX_SIGN, TEX_SHORT)
      return labels.at(numbered().length) ?? LABELS[0]
    }
    /** Follows a command of lists; an item is a line with its mark. */
    const shown = (...found: unknown[]): string => {
      const { mark, options = '', kind, labelled, label = '', change, counted, number, item, own } = found.at(-1) as Partial<typeof FORMATS>
      if (item !== undefined) {
        const indent = '  '.repeat(Math.max(0, Math.min(MOST_LEVELS, open.length - 1)))
        return `\n${indent}${own === undefined ? nextMark(open.at(-1)) : '-'} `
      }
      const level = TEX_LEVELS.indexOf(labelled ?? counted ?? '')
      const list = numbered()[level]
      if (mark !== undefined) {
        const before = /resume/.test(options) ? ended.at(numbered().length) : Number(/start=(\d+)/.exec(options)?.[1] ?? 1) - 1
        open.push({ mark, label: mark === 'enumerate' ? labelOf(options) : '', count: before ?? 0 })
      } else if (labelled !== undefined) {
        const known = list?.label ?? at(labels, level)
        const [format = ''] = /\\\w+\*/.exec(known) ?? []
        const written = starred(label.replace(/\\theenum[iv]+/, () => format))
        const changed = kind === 'the' ? known.replace(format, () => written) : written
        if (list === undefined) labels[level] = changed
        else list.label = changed
      } else if (counted === undefined) {
        const last = open.pop()
        if (last?.mark === 'enumerate') ended[numbered().length] = last.count
      } else if (list !== undefined) list.count = Number(number) + (change === 'set' ? 0 : list.count)
      return '\n'
    }
    return (line) => line.replace(TEX_COMMENT, '$1').replace(TEX_LIST, shown).split('\n')
  },
}

/** A mark with its number as labels write it, without what changes its font. */
function starred(mark: string): string {
  return mark.replace(/\\(\w+)\{enum[iv]+\}/, '\\$1*').replace(/\\(?!(?:arabic|alph|roman|Alph|Roman)\*)[A-Za-z]+\s*|[{}]/g, '')
}
