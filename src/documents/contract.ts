import type { ReadDocument } from './schema.ts'
import type { DocumentFile } from './type.ts'

/** Limits of parsing a file: its pages, and characters (UTF-16 code units) of its text. Errors name the one exceeded. */
export const DOCUMENT_LIMITS = { pages: 2000, characters: 10_000_000 }

/** Limits of OCR: pages of a document, and pixels of a page's picture. */
export const OCR_LIMITS = { pages: 200, pixels: 40_000_000 }

/** Sent by the process that reads a file when it begins to recognise a page. */
export const OCR_STARTS = 'ocr starts'

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
