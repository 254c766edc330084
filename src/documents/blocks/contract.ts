import type { DocumentType } from '../contract.ts'

interface Placed {
  /** 1-based page on which it begins; absent where the kind of file has no pages. */
  readonly page?: number
}

/** A part of a document. Text is in one line, with single spaces, except that of code. */
export type Block =
  | ({ readonly kind: 'heading'; readonly level: number; readonly text: string } & Placed)
  | ({ readonly kind: 'paragraph'; readonly text: string } & Placed)
  /** Items with their marks ("- ", "1. "); those of nested lists follow their parent. */
  | ({ readonly kind: 'list'; readonly items: readonly string[] } & Placed)
  /** A row reads "column: value; column: value". */
  | ({ readonly kind: 'table'; readonly rows: readonly string[] } & Placed)
  | ({ readonly kind: 'code'; readonly text: string } & Placed)

/** A document in its parts. */
export interface BlockDocument {
  readonly type: DocumentType
  /** What the file says it is called; empty where it does not. */
  readonly title: string
  readonly blocks: readonly Block[]
}

/** One line of single spaces. */
export function inline(text: string): string {
  return text.replace(/[\s\u00ad]+/g, (run) => (/^\u00ad+$/.test(run) ? '' : ' ')).trim()
}
