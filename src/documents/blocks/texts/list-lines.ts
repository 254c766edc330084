import { numberText } from '../markup/list.ts'
import type { DocumentType } from '../../type.ts'

/** Marks of items by level, with the names of LaTeX for their numbers. */
const LABELS = ['\\arabic*.', '\\alph*.', '\\roman*.', '\\Alph*.', '\\Roman*.'] as const
const MOST_LEVELS = 9
const FORMATS: Readonly<Record<string, string>> = { alph: 'a', Alph: 'A', roman: 'i', Roman: 'I' }
const TEX_LIST =
  /\\begin\{(itemize|enumerate|description)\}(?:\[([^\]]*)\])?|\\end\{(?:itemize|enumerate|description)\}|\s*(?<!\\)\\item\b\s*(?=(\[)?)/g
/** A mark of the package enumerate: its letter stands for the number. */
const TEX_SHORT = (letter: string): string => `\\${Object.keys(FORMATS).find((name) => FORMATS[name] === letter) ?? 'arabic'}*`

/** A comment after a text without commands whose argument may hold its mark. */
const TEX_COMMENT = /^((?:\\(?!verb|url|href|lstinline)[^]|[^%\\])*)%.*$/

/** A list that is open: how its items are marked, and the number of its last one. */
interface OpenList {
  readonly mark: string
  /** Its numbers as LaTeX writes them; empty for bullets. */
  readonly label: string
  count: number
}

/** The mark of the next item of the innermost list. */
function nextMark(list: OpenList | undefined): string {
  return list?.label.replace(/\\(\w+)\*/, (_, format: string) => numberText(++list.count, FORMATS[format])) || '-'
}

/** Makes lines of lists such as plain text has them, with the numbers that a document shows. */
export const LIST_LINES: Partial<Record<DocumentType, () => (line: string, before: string) => string[]>> = {
  rst: () => {
    let open: OpenList[] = []
    return (line) => {
      const [, indent = '', number] = /^(\s*)(?:(#|\d+)\.\s)?/.exec(line) ?? []
      if (indent === line) return [line]
      open = open.filter(({ mark }) => mark.length < indent.length || (number !== undefined && mark === indent))
      const list = open.at(-1)?.mark === indent ? open.at(-1) : { mark: indent, label: LABELS[0], count: 0 }
      if (number === undefined || list === undefined) return [line]
      open = [...open.filter((one) => one !== list), { ...list, count: number === '#' ? list.count + 1 : Number(number) }]
      return [line.replace(/^(\s*)#/, `$1${open.at(-1)?.count}`)]
    }
  },
  asciidoc: () => {
    let open: OpenList[] = []
    return (line, before) => {
      // A block's title.
      if (/^\.\w/.test(line)) return ['', line.slice(1), '']
      const [, mark, text = ''] = /^\s*(\.{1,5}|\*{1,5}|-)\s+(.*)$/.exec(line) ?? []
      if (mark === undefined) {
        if (before.trim() === '' && line.trim() !== '') open = []
        return [line]
      }
      const known = open.findIndex((one) => one.mark === mark)
      const count = Number(/^\[.*start=(\d+)/.exec(before)?.[1] ?? 1) - 1
      const label = mark.startsWith('.') ? (LABELS.at(mark.length - 1) ?? LABELS[0]) : ''
      open = known < 0 ? [...open, { mark, label, count }] : open.slice(0, known + 1)
      return [`${'  '.repeat(open.length - 1)}${nextMark(open.at(-1))} ${text}`]
    }
  },
  latex: () => {
    const open: OpenList[] = []
    const labelOf = (options: string): string => {
      const own = /label=\{?([^,}]*)/.exec(options)?.[1] ?? (/^[^=\\]+$/.test(options) ? options.replace(/[aAiI1]/, TEX_SHORT) : undefined)
      const label = LABELS.at(open.filter(({ mark }) => mark === 'enumerate').length) ?? LABELS[0]
      return own ?? (label.includes('alph') ? `(${label.slice(0, -1)})` : label)
    }
    return (line) =>
      line
        .replace(TEX_COMMENT, '$1')
        .replace(TEX_LIST, (found, mark?: string, options?: string, own?: string) => {
          if (/item\s*$/.test(found))
            return `\n${'  '.repeat(Math.max(0, Math.min(MOST_LEVELS, open.length - 1)))}${own === undefined ? nextMark(open.at(-1)) : '-'} `
          const count = Number(/start=(\d+)/.exec(options ?? '')?.[1] ?? 1) - 1
          if (mark === undefined) open.pop()
          else open.push({ mark, label: mark === 'enumerate' && !/resume/.test(options ?? '') ? labelOf(options ?? '') : '', count })
          return '\n'
        })
        .split('\n')
  },
}
