/** What a file can be. */
export const DOCUMENT_TYPES = ['text', 'markdown', 'html', 'pdf', 'docx', 'epub'] as const
export type DocumentType = (typeof DOCUMENT_TYPES)[number]

/** A file as it came. */
export interface DocumentFile {
  readonly bytes: Uint8Array
  /** Its name, of which the ending counts. */
  readonly name?: string
  /** Media type that came with it, parameters included. */
  readonly mediaType?: string
}

/** The text of a file. Headings of all but plain text are marked as in Markdown. */
export interface ReadDocument {
  readonly type: DocumentType
  readonly text: string
  /** What the file itself says it is called; empty where it does not. */
  readonly title: string
  /** Of each page the character at which it begins; empty for what has no pages. */
  readonly pages: readonly number[]
}

/** Bounds of reading a file, each named in an error. */
export interface DocumentLimits {
  readonly pages: number
  /** Characters (UTF-16 code units) of the text. */
  readonly characters: number
}

/** Pages and characters of a file. */
export const DOCUMENT_LIMITS: DocumentLimits = { pages: 2000, characters: 10_000_000 }

export interface ReadOptions {
  readonly signal?: AbortSignal
  readonly deadlineMs?: number
  /** Who asks, opaque: processes are shared between clients. Default: one for all. */
  readonly client?: string
}

export interface DocumentParser {
  /**
   * Reads a file. All but text and Markdown are read in a process of their own, which is killed where it takes too long or too much memory.
   * @throws unsupported_media_type, document_invalid (broken, encrypted, wrong encoding, beyond a bound), document_without_text,
   * payload_too_large, overloaded where too many files wait, deadline_exceeded, client_closed
   */
  read(file: DocumentFile, options?: ReadOptions): Promise<ReadDocument>
  /** Ends what is being read. */
  close(): void
}
