import { Marked, type MarkedExtension, type TokenizerAndRendererExtension } from 'marked'
import { isMap, isScalar, isSeq, parseDocument as parseYaml } from 'yaml'
import { inline, Unread, type BlockDocument } from '../contract.ts'
import { htmlDocument } from './html.ts'

/** Front matter (Jekyll, Hugo, Pandoc) in YAML, or in TOML between plus signs. */
const FRONT_MATTER = /^(---|\+\+\+)[ \t]*\r?\n([^]{0,20000}?)\r?\n(?:\1|\.\.\.)[ \t]*(?:\r?\n|$)/
/** Pandoc's title block: a title, authors and a date, which may go on in indented lines. */
const TITLE_BLOCK = /^% (.*(?:\r?\n .*)*)(?:\r?\n%(.*(?:\r?\n .*)*))?(?:\r?\n%(.*(?:\r?\n .*)*))?(?:\r?\n(?=\r?\n)|$)/
const titleBlock = (_: string, title: string, author = '', date = ''): string => {
  const [said, by, on] = [title, author, date].map((value) => JSON.stringify(inline(value)))
  return `---\ntitle: ${said}\nauthor: ${by}\ndate: ${on}\n---\n`
}
/** Its fields that are read; others are settings of the site. */
const READ =
  /^(?:subtitle|description|summary|abstract|authors?|date|published|updated|last_?mod(?:ified)?|version|tags|keywords|categories)$/i

/** A formula of TeX between dollars, or with a command in it between brackets. */
const FORMULA =
  /^(?:\$\$[^]{1,2000}?\$\$|\$(?!\s)(?:\\.|[^$\\\n]){1,2000}?(?<!\s)\$(?!\d)|\\\([^\n]*?\\[a-z][^]{0,2000}?\\\)|\\\[[^\n]*?\\[a-z][^]{0,2000}?\\\])/i
const BLOCK_FORMULA = /^\$\$[^]{1,2000}?\$\$[ \t]*(?:\n|$)/
/** Pandoc's tables, whose columns are those of the rules, and attributes of a heading. */
const GRID = /^ {0,3}\+[-=+:]+\+[ \t]*\n(?: {0,3}[|+].*[|+][ \t]*(?:\n|$))+/
const ATTRIBUTES = /\s*\{#[\w:.-]+(?:\s[^{}]*)?\}$/
/** A footnote: its lines, and paragraphs that are indented. */
const NOTE = /^ {0,3}\[\^([^\]\s]+)\]:[ \t]*([^\n]*(?:\n(?![ \t]*(?:\n|\[\^))[^\n]+)*(?:\n+(?: {4}|\t)[^\n]*)*)(?:\n|$)/
const REFERENCE = /^\[\^([^\]\s]+)\]/
/** What looks like an element without attributes: it is none if nothing closes it, unless its kind need not be closed. */
const PLACEHOLDER = /^\s*<([a-z][\w-]*)[\w -]*>\s*$/i
const OPEN = /^(?:br|hr|img|input|p|li|d[td]|t[dhr]|thead|tbody|tfoot|wbr|col|option|source)$/
/** Characters that are searched for the next formula or product. */
const SEARCHED = 10_000

/** A product of numbers, a range or an approximate number, and a name of Python's: their signs mark no emphasis. */
const LITERAL =
  /^(?:\d[\d.,]{0,20}(?:\*\d[\d.,]{0,20}){1,20}(?!\*)|\d[\d.,]{0,20}~\d[\d.,]{0,20}(?![\d.,~])|~(?=[\d$\u20ac\u00a3.]|[^~\s][^~\n]{0,200}~[\p{L}\p{N}])|__\w{1,40}__(?=\.py\b|\())/u
const LITERAL_START = /(?<![\w*~])(?:\d[\d.,]{0,20}[*~]\d|~(?!~)|__\w{1,40}__(?:\.py|\())/

/** Pandoc's H~2~O: longer text between two tildes is struck out. */
const SUBSCRIPT = /^~[\p{L}\p{N}+-]{1,3}~(?!~)/u

/** An extension for text without marks. @param start what its beginning looks like */
function asItIs(name: string, level: 'block' | 'inline', pattern: RegExp, start = pattern): TokenizerAndRendererExtension {
  return {
    name,
    level,
    ...(level === 'inline' && { start: (text) => text.slice(0, SEARCHED).search(start) }),
    tokenizer: (text) => {
      const [raw] = pattern.exec(text) ?? []
      return raw === undefined ? undefined : { type: name, raw }
    },
    renderer: ({ raw }) => (level === 'block' ? `<p>${escaped(raw)}</p>` : escaped(raw)),
  }
}

/** What is not Markdown's: formulas, footnotes, products, and words in angle brackets. */
function extensions(unread: Unread): MarkedExtension {
  /** Numbers of footnotes by their labels; 0 before the first reference. */
  const notes = new Map<string, number>()
  let count = 0
  /** Names of elements that the text closes. */
  const closed = new Set<string>()
  const html = ({ text }: { readonly text: string }): string => {
    const name = PLACEHOLDER.exec(text)?.[1]?.toLowerCase()
    return name === undefined || OPEN.test(name) || closed.has(name) ? text : escaped(text)
  }
  return {
    renderer: {
      html,
      heading({ tokens, depth }) {
        return `<h${depth}>${this.parser.parseInline(tokens).replace(ATTRIBUTES, '')}</h${depth}>`
      },
    },
    walkTokens: ({ type, raw, ...token }) => {
      const { header } = token as { readonly header?: unknown }
      // The library leaves out what has no column.
      if (type === 'table' && Array.isArray(header))
        for (const row of raw.trimEnd().split('\n').slice(2)) {
          const cells = row.replace(/^\s*\||(?<!\\)\|\s*$/g, '').split(/(?<!\\)\|/)
          unread.add('cells beyond the columns of a table', cells.length - header.length)
        }
      if (type === 'html') for (const [name] of raw.toLowerCase().matchAll(/(?<=<\/)[a-z][\w-]*/g)) closed.add(name)
    },
    extensions: [
      asItIs('block formula', 'block', BLOCK_FORMULA),
      { ...asItIs('grid table', 'block', GRID), renderer: ({ raw }) => `<pre>${escaped(raw)}</pre>` },
      asItIs('formula', 'inline', FORMULA, /\$/),
      // A later one is tried first.
      asItIs('literal', 'inline', LITERAL, LITERAL_START),
      { ...asItIs('subscript', 'inline', SUBSCRIPT, /~/), renderer: ({ raw }) => `<sub>${raw.slice(1, -1)}</sub>` },
      {
        name: 'note',
        level: 'block',
        tokenizer(text) {
          const [raw, label = '', inside = ''] = NOTE.exec(text) ?? []
          if (raw === undefined) return undefined
          notes.set(label, 0)
          return { type: 'note', raw, label, tokens: this.lexer.blockTokens(inside.replace(/^(?: {4}|\t)/gm, ''), []) }
        },
        renderer({ label, tokens = [] }) {
          return `<section id="note ${escaped(String(label))}">${this.parser.parse(tokens)}</section>`
        },
      },
      {
        name: 'reference',
        level: 'inline',
        tokenizer: (text) => {
          const [raw, label = ''] = REFERENCE.exec(text) ?? []
          return raw === undefined || !notes.has(label) ? undefined : { type: 'reference', raw, label }
        },
        renderer: ({ label }) => {
          const number = notes.get(String(label)) || ++count
          notes.set(String(label), number)
          return `<sup><a href="#note ${escaped(String(label))}">${number}</a></sup>`
        },
      },
    ],
  }
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
}

/** Parses GitHub-flavoured Markdown, including embedded HTML. What front matter says of the document follows its first heading. */
export function markdownDocument(given: string): BlockDocument {
  const source = given.replace(TITLE_BLOCK, titleBlock)
  const [whole = '', mark, front = ''] = FRONT_MATTER.exec(source) ?? []
  // TOML's fields before its first table are YAML with other signs.
  const fields = fieldsIn(mark === '---' ? front : front.replace(/^\[[^]*/m, '').replace(/^([\w-]+)[ \t]*=/gm, '$1:'))
  const text = fields === undefined ? source : source.slice(whole.length)
  const unread = new Unread()
  const html = new Marked({ gfm: true }, extensions(unread)).parse(text, { async: false })
  const { blocks: shown, warnings = [] } = htmlDocument(html)
  const rows = (fields ?? []).flatMap(([name, value]) => (READ.test(name) && value !== '' ? [`${name}: ${value}`] : []))
  const blocks = [...shown]
  if (rows.length > 0) blocks.splice(blocks[0]?.kind === 'heading' ? 1 : 0, 0, { kind: 'table', rows })
  return { title: fields?.find(([name]) => name === 'title')?.[1] ?? '', blocks, warnings: [...warnings, ...unread.warnings] }
}

/**
 * Names and values of front matter, also where that is no valid YAML (`title: Lamps: a list`).
 * @returns undefined if the text has no fields: it is between two rules
 */
function fieldsIn(front: string): (readonly [name: string, value: string])[] | undefined {
  if (front === '') return undefined
  const document = parseYaml(front, { uniqueKeys: false, logLevel: 'silent' })
  if (!isMap(document.contents)) return undefined
  return document.errors.length === 0
    ? document.contents.items.map(({ key, value }) => [valueText(key), valueText(value)] as const)
    : Array.from(front.matchAll(/^([\w-]+):[ \t]*(\S.*)$/gm), ([, name = '', value = '']) => [name, inline(value)] as const)
}

/** The text of a value; those of a list or of fields with commas between them. */
function valueText(value: unknown): string {
  const parts = isSeq(value) ? value.items : isMap(value) ? value.items.map((pair) => pair.value) : undefined
  const texts = parts?.map(valueText).filter((text) => text !== '')
  if (texts !== undefined) return texts.join(', ')
  const isText = isScalar(value) && (typeof value.value === 'string' || typeof value.value === 'number')
  return isText ? inline(value.source ?? String(value.value)) : ''
}
