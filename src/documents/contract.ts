/** Supported file types. */
export const DOCUMENT_TYPES = [
  'text',
  'markdown',
  'html',
  'pdf',
  'docx',
  'doc',
  'odt',
  'epub',
  'xlsx',
  'ods',
  'pptx',
  'odp',
  'rst',
  'org',
  'asciidoc',
  'latex',
  'log',
  'code',
  'notebook',
  'subtitles',
  'email',
] as const
export type DocumentType = (typeof DOCUMENT_TYPES)[number]

/** A file as received. */
export interface DocumentFile {
  readonly bytes: Uint8Array
  /** File name; its extension helps to detect the format. */
  readonly name?: string
  /** Content-Type, with parameters. */
  readonly mediaType?: string
  /** Encoding of a text that is not UTF-8 and declares none. */
  readonly encoding?: string | undefined
}

/** Text of a file: plain text as it is, other types as their blocks, with Markdown headings. */
export interface ReadDocument {
  readonly type: DocumentType
  readonly text: string
  /** Title from the file's own metadata; empty without one. */
  readonly title: string
  /** Offset of each page's first character; empty without pages. */
  readonly pages: readonly number[]
  /** What of the file is not in the text, as sentences. */
  readonly warnings: readonly string[]
}

/** Limits of parsing a file. Errors name the one exceeded. */
export interface DocumentLimits {
  readonly pages: number
  /** Characters (UTF-16 code units) of the text. */
  readonly characters: number
}

/** Pages and characters of a file. */
export const DOCUMENT_LIMITS: DocumentLimits = { pages: 2000, characters: 10_000_000 }

export interface ReadOptions {
  readonly signal?: AbortSignal | undefined
  readonly deadlineMs?: number
  /** Opaque client id for fair sharing of processes. Default: the same for all. */
  readonly client?: string
}

export interface DocumentParser {
  /**
   * Parses a file. Types other than text are parsed in a child process, which is killed above a time or memory limit.
   * @throws unsupported_media_type, document_invalid (broken, encrypted, wrong encoding, above a limit), document_without_text,
   * payload_too_large, overloaded if the queue is full, deadline_exceeded, client_closed
   */
  read(file: DocumentFile, options?: ReadOptions): Promise<ReadDocument>
  /** Aborts running parses. */
  close(): void
}
