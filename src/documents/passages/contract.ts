import type { DocumentType } from '../contract.ts'

/** A passage of a document. */
export interface DocumentPassage {
  /** The document's title and the headings above the passage: "Handbook > Leave > Parental leave". */
  readonly title: string
  readonly text: string
  /** The headings alone; empty before the first. */
  readonly heading: string
  /** 1-based page of its first character. */
  readonly page?: number
}

/** Result of a file. */
export interface DocumentPassages {
  readonly type: DocumentType
  readonly passages: readonly DocumentPassage[]
  /** What of the file is not in the passages, as sentences. */
  readonly warnings: readonly string[]
}
