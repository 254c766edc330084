import type { DocumentPassage } from '../../../src/documents/schema.ts'

/** What a small document says, written by hand. Every field holds for the index's passages; `has`, `lacks` and `warnings` for the text that is asked too. */
export interface FidelityCase {
  /** File name. Its bytes are `content`, else those of the file of this name in `files/`, else in `../shared/inputs/documents`. */
  readonly file: string
  readonly content?: string | Buffer | (() => Buffer | Promise<Buffer>)
  /** Media type it was received with. */
  readonly mediaType?: string
  /** All words of the passages, in order. A passage begins with its heading in brackets where that changes: `[Terms > Rent] Rent is due.` */
  readonly says?: string
  /** Phrases that a passage contains, in this order. White space counts. */
  readonly has?: readonly string[]
  /** Phrases that no passage, title or heading contains. */
  readonly lacks?: readonly string[]
  /** Lines (items, rows) of passages. */
  readonly lines?: readonly string[]
  /** Pages of the passages that contain a phrase. */
  readonly pages?: Readonly<Record<string, number>>
  /** The page of a passage. */
  readonly pagesBy?: (passage: DocumentPassage) => number
  /** Headings ("Terms > Rent") of the passages that contain a phrase. */
  readonly headings?: Readonly<Record<string, string>>
  /** What is said of the file, each by one pattern. Default: not checked. */
  readonly warnings?: readonly RegExp[]
  /** The document's title: what the title of each passage begins with. */
  readonly title?: string
  /** Least and most characters of each passage but the last. */
  readonly characters?: readonly [least: number, most: number]
  /** The texts of the passages, put together without anything between them. */
  readonly joined?: string
  /** Words per passage. Default: 100. */
  readonly words?: number
}
