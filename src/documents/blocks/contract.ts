import { clipped } from '../../../base/sentences.ts'

const MOST_LISTED = 10
const [MOST_QUOTED, QUOTED_CHARACTERS] = [3, 60]

interface OnPage {
  /** 1-based page of its first character; absent for file types without pages. */
  readonly page?: number
  /** Where later pages begin in its text, in order. Default: nowhere. */
  readonly breaks?: readonly PageBreak[]
}

/** The first character of a page. */
export interface PageBreak {
  /** Offset in the block's text; items and rows are joined by line ends. */
  readonly at: number
  readonly page: number
}

/** A part of a document. Text is on one line with single spaces, except in code. */
export type Block =
  /** Level 0 is the document's title, where its text is marked as that. */
  | ({ readonly kind: 'heading'; readonly level: number; readonly text: string } & OnPage)
  | ({ readonly kind: 'paragraph'; readonly text: string } & OnPage)
  /** Items with their marks ("- ", "1. "); those of nested lists follow their parent. */
  | ({ readonly kind: 'list'; readonly items: readonly string[] } & OnPage)
  /** A row reads "column: value; column: value". */
  | ({ readonly kind: 'table'; readonly rows: readonly string[] } & OnPage)
  | ({ readonly kind: 'code'; readonly text: string } & OnPage)

/** A table in lines. */
export interface LinesTable {
  /** What stands before it: its title, or text in its first line. */
  readonly before?: string
  readonly block: Block
  /** The first line after it. */
  readonly end: number
  /** What its last line has after it. */
  readonly after?: string
}

export interface BlockDocument {
  /** Title from the file's metadata; empty without one. */
  readonly title: string
  readonly blocks: readonly Block[]
  /** Number of pages. Default: it has none. */
  readonly pages?: number
  /** What of the file is not in the blocks, as sentences. */
  readonly warnings?: readonly string[]
}

/** Collapses white space to single spaces, without marks of possible line breaks; letters are composed (NFC), ligatures in words are letters. */
export function inline(text: string): string {
  // Most texts are as they should be.
  if (!/[^!-~ ]|\s\s|^\s|\s$/.test(text)) return text
  return text
    .replace(/[\u00ad\u200b\u2060\ufeff]+/g, '')
    .replace(/\s+/g, ' ')
    .replace(/(?<=\p{L})[\ufb00-\ufb06]|[\ufb00-\ufb06](?=\p{L})/gu, (ligature) => ligature.normalize('NFKC'))
    .trim()
    .normalize()
}

/** Between two lines whose scripts have no spaces. Not after a wide space: a run of them would be tried from each. */
const WITHOUT_SPACE =
  /(?<=[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\u3001-\u303f\uff01-\uff9f])\s*\n\s*(?=[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\u3000-\u303f\uff01-\uff9f])/gu

/** A text that may be wrapped without the line ends that stand for no space. */
export function unwrapped(text: string): string {
  return text.replace(WITHOUT_SPACE, '')
}

/** Words before which a hyphen stands for a part left out: "pre- and postwar". */
export const CONJUNCTIONS = 'and|or|to|und|oder|bzw|sowie|bis|et|ou'
/** The end of a line within a word, a range or a date, unless the hyphen stands for a part left out. */
const DIVIDED = new RegExp(
  `(?<=\\p{L}-)\\n\\s*(?=\\p{Ll})(?!(?:${CONJUNCTIONS})\\b)|(?<=\\d[-\u2013])\\n\\s*(?=\\d)|(?<=\\b\\d{4}-\\d\\d)\\n\\s*(?=-\\d\\d\\b)`,
  'gu',
)

/** Lines as one text; a hyphen at the end of one is a part of the word. */
export function joinedLines(lines: readonly string[]): string {
  return inline(unwrapped(lines.join('\n')).replace(DIVIDED, ''))
}

/** A title as a file declares it, of so many characters at most. */
export function titleText(text: string, most = 300): string {
  return clipped(text, most)
}

/** Names or numbers in a warning: the first ones. */
export function listed(all: readonly (string | number)[]): string {
  const each = [...new Set(all)]
  return `${each.slice(0, MOST_LISTED).join(', ')}${each.length > MOST_LISTED ? ', ...' : ''}`
}

/** Texts in a warning: the beginnings of the first ones. */
export function quoted(texts: readonly string[]): string {
  const shown = texts.slice(0, MOST_QUOTED).map((text) => JSON.stringify(text.slice(0, QUOTED_CHARACTERS)))
  return `${shown.join(', ')}${texts.length > MOST_QUOTED ? ', ...' : ''}`
}

/** Counts what is not read, by kind, and keeps what headers and footers say. */
export class Unread {
  readonly #counts = new Map<string, number>()
  readonly #edges = new Set<string>()

  /** @param kind nothing is counted without one */
  add(kind: string | undefined, count = 1): void {
    if (kind !== undefined && count > 0) this.#counts.set(kind, (this.#counts.get(kind) ?? 0) + count)
  }

  /** @param text of a header or footer; numbers of pages are left out */
  addEdge(text: string): void {
    if (/\p{L}/u.test(text)) this.#edges.add(inline(text))
  }

  get warnings(): string[] {
    const edges = this.#edges.size === 0 ? [] : [`Headers and footers were left out: ${quoted([...this.#edges])}.`]
    return [...Array.from(this.#counts, ([kind, count]) => `Not read: ${kind} (${count}).`), ...edges]
  }
}

/** The items, rows or the text of a block. */
export function textsOf(block: Block): readonly string[] {
  return block.kind === 'list' ? block.items : block.kind === 'table' ? block.rows : [block.text]
}

/** The page of a character of a block's text. */
export function pageAt({ page, breaks = [] }: Block, offset: number): number | undefined {
  return breaks.findLast(({ at }) => at <= offset)?.page ?? page
}
