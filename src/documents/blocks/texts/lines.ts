import { at } from '../../../../base/at.ts'
import type { DocumentType } from '../../type.ts'
import { inline, type Block } from '../contract.ts'
import { boxRows, plainBlocks } from './plain.ts'

/** Kinds of text whose structure is in its lines. */
export type LinesType = Extract<DocumentType, 'rst' | 'org' | 'asciidoc' | 'latex'>

interface Syntax {
  /** The level and text of a heading. */
  heading(line: string, next: string): { readonly level: number; readonly text: string } | undefined
  /** First line of a listing; what its last line looks like. */
  readonly fence: RegExp
  fenceEnd(open: string): RegExp
  /** Comments and settings. */
  readonly dropped: RegExp
  /** Line of a table with its cells between bars. */
  readonly row?: RegExp
}

const UNDERLINE = /^([=\-~^"'`#*+.:_<>])\1{2,}\s*$/
const LEVELS = '=-~^"\'`#*+.:_<>'
const SECTIONS = ['part', 'chapter', 'section', 'subsection', 'subsubsection', 'paragraph']
const LISTING = 'verbatim|lstlisting|minted|Verbatim|comment'
/** The first line of a comment of several, which is read as a listing, and is none. */
const COMMENT = /^(?:\/{4}|\s*#\+begin_comment|\s*\\begin\{comment\})/i
const MOST_LEVELS = 6
/** What is between two braces of LaTeX, which may have others in it. */
const BRACED = String.raw`(?:\\.|[^{}\\]|\{(?:\\.|[^{}\\])*\})*`

const SYNTAXES: Readonly<Record<LinesType, Syntax>> = {
  rst: {
    heading: (line, next) => {
      const mark = UNDERLINE.exec(next)?.[1]
      const isTitle =
        mark !== undefined &&
        /^\S/.test(line) &&
        !UNDERLINE.test(line) &&
        !line.startsWith('.. ') &&
        next.trim().length >= line.trim().length
      return isTitle ? { level: LEVELS.indexOf(mark) + 1, text: line } : undefined
    },
    fence: /^\s*\.\. (?:code(?:-block)?|sourcecode|parsed-literal|math)::/,
    fenceEnd: () => /^\S/,
    dropped: /^(?:\.\. (?:_[^:]*:|contents::|toctree::|highlight::|index::).*|([=\-~^"'`#*+])\1{2,})\s*$/,
  },
  org: {
    heading: (line) => {
      const [, stars, text] = /^(\*+)\s+(.*?)(?:\s+:[\w@:]+:)?\s*$/.exec(line) ?? []
      return stars === undefined || text === undefined ? undefined : { level: stars.length, text }
    },
    fence: /^\s*#\+begin_(?:src|example|verse|comment)/i,
    fenceEnd: () => /^\s*#\+end_/i,
    dropped: /^\s*(?:#\s.*|#\+(?!title:|subtitle:|author:|date:|caption:)\S*.*|:(?:PROPERTIES|END|LOGBOOK|CUSTOM_ID|ID):.*)$/i,
    row: /^\s*\|.*\|\s*$/,
  },
  asciidoc: {
    heading: (line, next) => {
      // The title may be underlined.
      if (/^={4,}\s*$/.test(next) && Math.abs(next.trim().length - line.trim().length) <= 2) return { level: 1, text: line }
      const [, marks, text] = /^(={1,6})\s+(\S.*)$/.exec(line) ?? []
      return marks === undefined || text === undefined ? undefined : { level: marks.length, text }
    },
    fence: /^(?:-{4,}|\.{4,}|\/{4,}|`{3,}.*)$/,
    fenceEnd: (open) => new RegExp(`^\\${open.charAt(0)}{${open.startsWith('`') ? 3 : 4},}\\s*$`),
    // Admonitions and sources of quotes are shown.
    dropped: /^(?:\/\/.*|\[(?!quote|verse|[A-Z]+\])\[?[^\]]*\]?\]|:[\w-]+!?:.*|'{3,}|[=*_]{4,}|\|===)\s*$/,
    row: /^\|(?!===).*\|/,
  },
  latex: {
    heading: (line) => {
      const [, name, text] =
        new RegExp(`^\\s*\\\\(${SECTIONS.join('|')})\\*?(?:\\[[^\\]]*\\])?\\{(${BRACED})\\}(?:\\s*\\\\label\\{[^}]*\\}|\\}|\\s)*$`).exec(
          line,
        ) ?? []
      return name === undefined || text === undefined ? undefined : { level: SECTIONS.indexOf(name) + 1, text }
    },
    fence: new RegExp(`^\\s*\\\\begin\\{(?:${LISTING})\\}`),
    fenceEnd: (open) => new RegExp(`^\\s*\\\\end\\{${/\w+(?=\})/.exec(open)?.[0] ?? LISTING}\\}`),
    dropped:
      /^\s*(?:%.*|\\(?:maketitle|tableofcontents|newpage|clearpage|label\{[^}]*\}|hypertarget\{[^}]*\}\{%?|centering|bibliographystyle\{[^}]*\}|end\{document\})\s*)$/,
  },
}

/** Blocks of a text by the marks in its lines: headings, listings, tables; the rest as plain text. Marks in running text stay. */
export function linesBlocks(text: string, type: LinesType): Block[] {
  const syntax = SYNTAXES[type]
  const { fence, dropped, row } = syntax
  const blocks: Block[] = []
  let prose: string[] = []
  const endProse = (): void => {
    if (prose.length > 0) blocks.push(...plainBlocks(prose.join('\n'), false))
    prose = []
  }
  const push = (block: Block): void => {
    endProse()
    blocks.push(block)
  }
  const lines = (type === 'latex' ? printed(text) : text).split(/\r\n?|\n/)
  /** The first line after `from` that does not match. */
  const endOf = (from: number, matches: (line: string) => boolean): number => {
    let end = from
    while (end < lines.length && matches(at(lines, end))) end++
    return end
  }
  for (let i = 0; i < lines.length; i++) {
    const line = at(lines, i)
    const found = syntax.heading(line, lines.at(i + 1) ?? '')
    if (found !== undefined) {
      push({ kind: 'heading', level: Math.min(MOST_LEVELS, found.level), text: inline(found.text) })
      if (type === 'rst') i++
    } else if (fence.test(line)) {
      const last = syntax.fenceEnd(line)
      const end = endOf(i + 1, (one) => !last.test(one))
      const [, first] = ARGUMENT.exec(line) ?? []
      const listing = [...(first === undefined ? [] : [first]), ...lines.slice(i + 1, end)].join('\n')
      const code = listing.replace(/^(?:\s*\n)+/, '').trimEnd()
      if (code !== '' && !COMMENT.test(line)) push({ kind: 'code', text: code })
      // An indented listing ends before the next line.
      i = type === 'rst' ? end - 1 : end
    } else if (row?.test(line) === true) {
      const end = endOf(i, (one) => row.test(one))
      push({ kind: 'table', rows: boxRows(lines.slice(i, end), false) })
      i = end - 1
    } else if (type === 'rst' && /^\s*(?:=+(?:\s+=+)+|\+[-=+]+\+)\s*$/.test(line)) {
      const end = endOf(i, (one) => one.trim() !== '')
      push({ kind: 'code', text: lines.slice(i, end).join('\n') })
      i = end - 1
    } else if (!dropped.test(line)) prose.push(...(type === 'latex' ? listLines(line) : [line]))
  }
  endProse()
  return blocks
}

/** A line of a list of LaTeX, as plain text has it: each item is a line. */
function listLines(line: string): string[] {
  return line
    .replace(/\\(?:begin\{(?:itemize|enumerate|description)\}(?:\[[^\]]*\])?|end\{(?:itemize|enumerate|description)\})/g, '\n')
    .replace(/\s*(?<!\\)\\item\b\s*/g, '\n- ')
    .split('\n')
}

/** A listing of reStructuredText that may begin in the line that marks it. */
const ARGUMENT = /^\s*\.\. (?:parsed-literal|math)::\s+(\S.*)/

/** What names a document, not in a comment. */
const NAMED = new RegExp(String.raw`(?<!%.{0,200})\\(?:title|author|date)\{${BRACED}\}`, 'g')

/** What LaTeX prints: its title and its document. */
function printed(text: string): string {
  const [preamble = '', ...body] = text.split('\\begin{document}')
  const named = body.length === 0 ? [] : (preamble.match(NAMED) ?? [])
  return [...named.map(inline), ...(body.length === 0 ? [text] : body)].join('\n\n').replace(/^\s*\\title\{/m, '\\part{')
}
