import { at } from '../../../../base/at.ts'
import type { DocumentType } from '../../type.ts'
import { inline, Unread, type Block, type BlockDocument, type LinesTable } from '../contract.ts'
import { rowTexts, type GridCell } from '../markup/row-texts.ts'
import { raisedText } from '../markup/text.ts'
import { BRACED, LIST_LINES, TEX_LABEL } from './list-lines.ts'
import { boxRows, plainBlocks, separatedRows } from './plain.ts'
import { rstTable } from './rst-table.ts'
import { texTable } from './tex-table.ts'

/** Kinds of text whose structure is in its lines. */
export type LinesType = Extract<DocumentType, 'rst' | 'org' | 'asciidoc' | 'latex'>

interface Syntax {
  /**
   * The level and text of a heading, and whether the next line is a part of it. A level is a number, or a mark: levels are then in the order in
   * which their marks appear.
   */
  heading(
    line: string,
    next: string,
    before: string,
  ): { readonly level: number | string; readonly text: string; readonly isUnderlined?: boolean } | undefined
  /** First line of a listing; what its last line looks like. */
  readonly fence: RegExp
  fenceEnd(open: string): RegExp
  /** Comments and settings. */
  readonly dropped: RegExp
  /** The table that begins in a line. @param shown a text as it is printed */
  table(lines: readonly string[], from: number, shown: (text: string) => string, unread: Unread): LinesTable | undefined
  /** The whole text with what its lines alone do not say. Default: as it is. */
  readonly prepared?: (text: string) => string
  /** Its running text, as it is printed. Default: as it is. */
  readonly shown?: (text: string) => string
  /** Names that a document gives to texts, and where they are used. */
  readonly values?: { readonly defined: RegExp; readonly used: RegExp }
}

const UNDERLINE = /^([=\-~^"'`#*+.:_<>])\1{2,}\s*$/
const SECTIONS = ['title', 'part', 'chapter', 'section', 'subsection', 'subsubsection', 'paragraph']
const TEX_SECTION = new RegExp(String.raw`^\s*\\(${SECTIONS.join('|')})\*?(?:\[[^\]]*\])?\{(${BRACED})\}(?:\s*\\label\{[^}]*\}|\}|\s)*$`)
const LISTING = 'verbatim|lstlisting|minted|Verbatim|comment'
/** The first line of a comment of several, which is read as a listing, and is none. */
const COMMENT = /^(?:\/{4}|\s*#\+begin_comment|\s*\\begin\{comment\}|\s*\.\.(?:\s*$| (?!\S*::|[[_|])))/i
/** A comment of reStructuredText that ends with its line, if the next one is blank. */
const EMPTY_COMMENT = /^\s*\.\.\s*$/
/** Files that a document shows as a part of it. */
const INCLUDED: Readonly<Record<LinesType, RegExp>> = {
  rst: /^\s*\.\. (?:literal)?include::/,
  org: /^\s*#\+include:/i,
  asciidoc: /^include::\S+\[/,
  latex: /^\s*\\(?:input|include)\{/,
}
const MOST_LEVELS = 6

const SYNTAXES: Readonly<Record<LinesType, Syntax>> = {
  rst: {
    shown: rolesIn,
    table: rstTable,
    heading: (line, next, before) => {
      const mark = UNDERLINE.exec(next)?.[1]
      const isOver = before.trim() === next.trim()
      const isText = (isOver ? /\S/ : /^\S/).test(line) && !UNDERLINE.test(line) && !line.startsWith('.. ')
      if (mark === undefined || !isText || next.trim().length < line.trim().length) return undefined
      return { level: isOver ? mark + mark : mark, text: line, isUnderlined: true }
    },
    fence: /^\s*(?:\.\.\s*$|\.\. (?!\S*::|[[_|])|\.\. (?:code(?:-block)?|sourcecode|parsed-literal|math)::|(?!\.\. |\s).*::\s*$)/,
    fenceEnd: (open) => new RegExp(`^\\s{0,${open.search(/\S/)}}\\S`),
    dropped:
      /^(?:\s*\.\.|\.\. (?:_[^:]*:|\|[^|]+\| replace::|contents::|toctree::|highlight::|index::).*|\s+:(?:widths:[\s\d,]*(?:auto|grid)?|align:\s*(?:left|center|right))|([=\-~^"'`#*+])\1{2,})\s*$/,
    values: { defined: /^\.\. \|([^|]+)\| replace::[ \t]+(\S.*)$/gm, used: /(?<!^\.\. )\|([^\s|](?:[^|\n]*[^\s|])?)\|/g },
  },
  org: {
    heading: (line) => {
      const [, stars = '', text] = /^(?:(\*+)|#\+title:)\s+(.*?)(?:\s+:[\w@:]+:)?\s*$/i.exec(line) ?? []
      return text === undefined ? undefined : { level: stars.length, text }
    },
    fence: /^\s*#\+begin_(?:src|example|verse|comment)/i,
    fenceEnd: () => /^\s*#\+end_/i,
    dropped:
      /^\s*(?:-{5,}|#\s.*|#\+(?!subtitle:|description:|keywords:|author:|date:|caption:)\S*.*|:(?:PROPERTIES|END|LOGBOOK|CUSTOM_ID|ID):.*)$/i,
    table: orgTable,
    values: { defined: /^#\+macro:[ \t]+([\w-]+)[ \t]+([^\s$][^$\n]*)$/gim, used: /\{\{\{([\w-]+)\}\}\}/g },
  },
  asciidoc: {
    prepared: counted,
    table: barTable,
    heading: (line, next, before) => {
      const mark = /^([-=~^+])\1{2,}\s*$/.exec(next)?.[1]
      const isAlike = Math.abs(next.trim().length - line.trim().length) <= 1
      if (mark !== undefined && isAlike && /^[\p{L}\p{N}]/u.test(line) && /^(?:\[.*\])?\s*$/.test(before))
        return { level: '=-~^+'.indexOf(mark) + 1, text: line, isUnderlined: true }
      const [, marks, text] = /^(={1,6})\s+(\S.*)$/.exec(line) ?? []
      return marks === undefined || text === undefined ? undefined : { level: marks.length, text }
    },
    fence: /^(?:-{4,}|\.{4,}|\/{4,}|`{3,}.*)$/,
    fenceEnd: (open) => new RegExp(`^\\${open.charAt(0)}{${open.startsWith('`') ? 3 : 4},}\\s*$`),
    values: { defined: /^:([\w-]+):[ \t]+(\S.*)$/gm, used: /(?<!\\)\{([\w-]+)\}/g },
    // Admonitions and sources of quotes are shown.
    dropped:
      /^(?:\/\/.*|\[(?!quote|verse|[A-Z]+\])\[?[^\]]*\]?\]|:(?!(?:author|description|keywords|rev\w+):)[\w-]+!?:.*|'{3,}|[=*_]{4,}|\+|\|===)\s*$/,
  },
  latex: {
    prepared: printed,
    shown: withAccents,
    table: texTable,
    heading: (line) => {
      const [, name, text] = TEX_SECTION.exec(line) ?? []
      return name === undefined || text === undefined ? undefined : { level: SECTIONS.indexOf(name), text }
    },
    fence: new RegExp(`^\\s*\\\\begin\\{(?:${LISTING})\\}`),
    fenceEnd: (open) => new RegExp(`^\\s*\\\\end\\{${/\w+(?=\})/.exec(open)?.[0] ?? LISTING}\\}`),
    dropped:
      /^\s*(?:%.*|(?:\\(?:maketitle|tableofcontents|newpage|clearpage|label\{[^}]*\}|hypertarget\{[^}]*\}\{%?|setlength\{[^}]*\}\{[^}]*\}|centering|(?:begin|end)\{(?:table|figure|center)\*?\}(?:\[[^\]]*\])?|bibliographystyle\{[^}]*\}|end\{document\})\s*)+)$/,
  },
}

/** Blocks of a text by the marks in its lines: headings, listings, tables; the rest as plain text. Marks in running text stay. */
export function linesDocument(text: string, type: LinesType): BlockDocument {
  const syntax = SYNTAXES[type]
  const { fence, dropped, prepared = String, shown = String } = syntax
  const blocks: Block[] = []
  const prose: string[] = []
  const endProse = (): void => {
    const text = prose.splice(0).join('\n')
    if (text !== '') for (const one of plainBlocks(shown(text), false)) blocks.push(one)
  }
  const push = (block: Block): void => {
    endProse()
    blocks.push(block)
  }
  const lines = prepared(text).split(/\r\n?|\n/)
  const unread = new Unread()
  const listed = LIST_LINES[type]?.() ?? ((line: string): string[] => [line])
  /** Marks of headings, by level. */
  const marks: string[] = []
  const resolved = createResolver(text, syntax.values)
  /** The first line after `from` that does not match. */
  const endOf = (from: number, matches: (line: string) => boolean): number => {
    let end = from
    while (end < lines.length && matches(at(lines, end))) end++
    return end
  }
  for (let i = 0; i < lines.length; i++) {
    const line = resolved(at(lines, i))
    const found = syntax.heading(line, lines.at(i + 1) ?? '', i === 0 ? '' : at(lines, i - 1))
    const table = found === undefined && !fence.test(line) ? syntax.table(lines, i, (text) => shown(resolved(text)), unread) : undefined
    if (found !== undefined) {
      // A new mark is of the next level.
      const depth = typeof found.level === 'number' ? found.level : marks.indexOf(found.level) + 1 || marks.push(found.level)
      push({ kind: 'heading', level: Math.min(MOST_LEVELS, depth), text: inline(shown(found.text)) })
      if (found.isUnderlined === true) i++
    } else if (fence.test(line) && !(EMPTY_COMMENT.test(line) && lines.at(i + 1)?.trim() === '')) {
      if (type === 'rst' && !/^\s*\.\.(?!\S)/.test(line)) prose.push(...listed(line.replace(/(?:^:)?:\s*$/, ''), ''))
      const last = syntax.fenceEnd(line)
      const end = endOf(i + 1, (one) => !last.test(one))
      const listing = [ARGUMENT.exec(line)?.[1] ?? '', ...lines.slice(i + 1, end)].join('\n')
      const code = listing.replace(/^(?:\s*\n)+/, '').trimEnd()
      if (code !== '' && !COMMENT.test(line)) push({ kind: 'code', text: code })
      // An indented listing ends before the next line.
      i = type === 'rst' ? end - 1 : end
    } else if (table !== undefined) {
      const { before = '', block, end, after } = table
      prose.push(before)
      push(block)
      i = end - 1
      if (after !== undefined) lines[i--] = after
    } else {
      unread.add('included files', Number(INCLUDED[type].test(line)))
      const shownLines = listed(line, i === 0 ? '' : at(lines, i - 1))
      prose.push(...(dropped.test(line) ? shownLines.slice(0, -1) : shownLines))
    }
  }
  endProse()
  return { title: '', blocks, warnings: unread.warnings }
}

/** Resolves names that a text defines, in its lines. */
function createResolver(text: string, { defined, used }: Partial<Syntax['values']> = {}): (line: string) => string {
  const values = new Map<string, string>()
  const resolved = (line: string): string =>
    used === undefined || values.size === 0 ? line : line.replace(used, (reference, name: string) => values.get(name) ?? reference)
  if (defined !== undefined) for (const [, name = '', value = ''] of text.matchAll(defined)) values.set(name, resolved(value))
  return resolved
}

/** A list of AsciiDoc whose numbers fall, with its items. */
const REVERSED = /^\[([^\]\n]*\breversed\b[^\]\n]*)\][ \t]*\n(?=(\.{1,5}) )((?:.+(?:\n|$)|\n(?=\n*\.{1,5} ))*)/gm

/** A text whose falling lists say from which number. */
function counted(text: string): string {
  return text.replace(REVERSED, (all, attributes: string, mark: string, items: string) => {
    const count = items.split('\n').filter((line) => line.startsWith(`${mark} `)).length
    return /\bstart=/.test(attributes) ? all : `[${attributes},start=${count}]\n${items}`
  })
}

/** The start of a cell of AsciiDoc, with its form; one that spans others, or stands for several. */
const CELL = /(?:(?<!\S)(?:[\d.]*[+*])?[<^>]?(?:\.[<^>])?[adehlmsv]?)?(?<!\\)\|/
const SPANNING = /(?<!\S)[\d.]+[+*][<^>.]*[a-z]?\|/

/** A table of AsciiDoc, whose mark, format or separator says what stands between its cells. */
const TABLE = /^[|,:!]={3,}\s*$/
const ROW = /^\s*\|.*\|\s*$/
const SEPARATED = /\bformat="?(csv|tsv|dsv)|\n?([,:])={3,}$/
const SEPARATORS: Readonly<Record<string, string>> = { csv: ',', tsv: '\t', dsv: ':' }

/** A table of Org, with its cells between bars. */
function orgTable(lines: readonly string[], from: number, shown: (text: string) => string): LinesTable | undefined {
  let end = from
  while (ROW.test(lines.at(end) ?? '')) end++
  return end === from
    ? undefined
    : { block: { kind: 'table', rows: boxRows(lines.slice(from, end), { isWrapped: false }).map(shown) }, end }
}

/** A table of AsciiDoc, between two equal marks. */
function barTable(lines: readonly string[], from: number, shown: (text: string) => string, unread: Unread): LinesTable | undefined {
  const mark = at(lines, from)
  const end = TABLE.test(mark) ? lines.indexOf(mark, from + 1) : -1
  const above = lines.slice(Math.max(0, from - 2), from + 1)
  return end < 0
    ? undefined
    : { block: { kind: 'table', rows: cellRows(lines.slice(from + 1, end), above, unread).map(shown) }, end: end + 1 }
}

/** Rows of a table of AsciiDoc, in which a line may hold a part of a row. @param above lines that say what its columns are, and its first one */
function cellRows(given: readonly string[], above: readonly string[], unread: Unread): string[] {
  const before = above.join('\n')
  const [, separator] = /\bseparator="?([^",\]\s])/.exec(before) ?? []
  const [isSeparated, format = '', mark] = SEPARATED.exec(before) ?? []
  const isHeaded = /header/.test(before) || given.at(given.findIndex((line) => line.trim() !== '') + 1)?.trim() === ''
  if (isSeparated !== undefined) return separatedRows(given, separator ?? SEPARATORS[format] ?? mark ?? ',', Number(isHeaded))
  const lines = separator === undefined ? given : given.map((line) => line.replaceAll('|', '\\|').replaceAll(separator, '|'))
  const cellsIn = (text: string): GridCell[] =>
    text.split(CELL).flatMap((cell, i) => (i === 0 ? [] : [{ text: inline(cell.replaceAll('\\|', '|')) }]))
  const first = lines.findIndex((line) => line.trim() !== '')
  const named = /cols="?([^"\]]+)/.exec(before)?.[1]?.split(/[,;]/)
  const columns = named?.reduce((sum, one) => sum + Number(/^\s*(\d+)\*/.exec(one)?.[1] ?? 1), 0) ?? cellsIn(lines.at(first) ?? '').length
  const text = lines.join('\n')
  const isSpanned = SPANNING.test(text)
  if (isSpanned) unread.add('columns of tables with cells that span others')
  if (columns === 0 || isSpanned) return lines.map((line) => inline(line.split(CELL).join(' '))).filter((line) => line !== '')
  const cells = cellsIn(text)
  const rows = Array.from({ length: Math.ceil(cells.length / columns) }, (_, i) => cells.slice(i * columns, (i + 1) * columns))
  return rowTexts(rows.map((row, i) => ({ cells: row, isHead: i === 0 && isHeaded })))
}

/** A text with the letters that commands of LaTeX stand for. */
function withAccents(text: string): string {
  return text
    .replace(ACCENTED, (_, accent: string, braced = '', bare = '') => (braced + bare + at(MARKS, ACCENTS.indexOf(accent))).normalize())
    .replace(LETTER, (_, name: string) => LETTERS.get(name) ?? '')
    .replace(/\{([^\0-\u007f])\}/g, '$1')
    .replace(FORMATTED, (_, inside: string) => withAccents(inside))
    .replace(/(?<!\\)\\([&%$#_])/g, '$1')
    .replace(/(?<!\\)\\[,; ]|(?<=[\p{L}\p{N}.)])~(?=\S)/gu, ' ')
}

const ACCENTED =
  /(?<!\\)\\([`'^~=."]|[uHvckr](?![A-Za-z]))(?:\s*\{\\?([A-Za-z])\}|(?:(?<=[A-Za-z])[ \t]+|(?<![A-Za-z]))(?:\\(?=[ij](?![A-Za-z])))?([A-Za-z]))/g
/** Commands of accents, and their marks. */
const ACCENTS = '`\'^~=."uHvckr'
const MARKS = '\u0300\u0301\u0302\u0303\u0304\u0307\u0308\u0306\u030b\u030c\u0327\u0328\u030a'
/** A text in a font, or with line breaks. */
const FORMATTED = new RegExp(
  String.raw`\\(?:text(?:bf|it|tt|sc|sf|rm|md|up|sl|normal)?|emph|mbox|underline|caption|makecell|thead|shortstack)(?:\[[^\]]*\])?\{(${BRACED})\}`,
  'g',
)
const LETTER = /(?<!\\)\\(ss|ae|AE|oe|OE|o|O|aa|AA|l|L)(?![A-Za-z])(?:\{\}|[ \t]+)?/g
const LETTERS = new Map(
  Object.entries({
    ...{ ss: '\u00df', ae: '\u00e6', AE: '\u00c6', oe: '\u0153', OE: '\u0152', o: '\u00f8', O: '\u00d8' },
    ...{ aa: '\u00e5', AA: '\u00c5', l: '\u0142', L: '\u0141' },
  }),
)

/** The text of reStructuredText without the names of roles and the targets of links. */
function rolesIn(text: string): string {
  return text
    .replace(RAISED, (_, raised: string, at: number) => raisedText(raised, text.slice(0, at).replace(/\\ $/, '')))
    .replace(ROLE, (all, role: string | undefined, inside: string, link: string) => {
      if ((role ?? '') === link) return all
      return LITERAL.test(role ?? '') ? inside : inside.replace(/\s+<[^>]*>$/, '')
    })
    .replace(/\\ /g, '')
    .replace(ADMONITION, (_, indent: string, name: string) => `${indent}${name.charAt(0).toUpperCase()}${name.slice(1)}: `)
    .replace(/^[ \t]*\.\. table::[ \t]*|^\.\. (?=\[[^\]]+\] )|(?<=\])_\b/gm, '')
}

const ADMONITION = /^([ \t]*)\.\. (attention|caution|danger|error|hint|important|note|tip|warning)::[ \t]*/gim
/** Roles of reStructuredText: a superscript, those without targets, any or a link. */
const RAISED = /(?<!`):sup(?:erscript)?:`([^`]+)`/g
const LITERAL = /^(?:code|file|literal|math|samp)$/
const ROLE = /(?<!`)(?::([a-z][\w:.+-]{0,60}):)?`(?!`)~?([^`]+)`(?!`)(_{0,2})/gi
/** A listing of reStructuredText that may begin in the line that marks it. */
const ARGUMENT = /^\s*\.\. (?:parsed-literal|math)::\s+(\S.*)/

/** What names a document, not in a comment. */
const NAMED = new RegExp(
  String.raw`(?<!%.{0,200})(?:\\(?:(?:sub)?title|author|date|institute|affiliation|address|keywords|abstract)(?:\[[^\]]*\])?\{${BRACED}\}|${TEX_LABEL})`,
  'g',
)

/** A command without arguments that a document defines. */
const COMMAND = new RegExp(
  String.raw`^[ \t]*\\(?:newcommand|providecommand|def)\*?\s*\{?\\((?!(?:label|the)enum)[A-Za-z]+)\}?\s*\{(${BRACED})\}`,
  'gm',
)

/** What LaTeX prints: its title and its document, with its own commands resolved. */
function printed(text: string): string {
  const [preamble = '', ...body] = text.split('\\begin{document}')
  const named = body.length === 0 ? [] : (preamble.match(NAMED) ?? [])
  const commands = new Map(Array.from(preamble.matchAll(COMMAND), ([, name, value]) => [name, value]))
  return (
    [...named.map(inline), ...(body.length === 0 ? [text] : body)]
      .join('\n\n')
      .replace(/^([^]*)\\end\{document\}[^]*$/, '$1')
      // The text of an item may begin in the next line.
      .replace(/(\\item(?:\[[^\]]*\])?)[ \t]*\r?\n[ \t]*(?=[^\s\\%]|\\(?!begin|end|item))/g, '$1 ')
      .replace(/\\([A-Za-z]+)(?:\{\})?/g, (command, name: string) => commands.get(name) ?? command)
  )
}
