import type { ErrorCode } from '../../base/errors.ts'
import type { DocumentLimits, DocumentType, ReadDocument } from './contract.ts'

/** A file to parse. */
export interface ParseTask {
  readonly type: Exclude<DocumentType, 'text' | 'markdown'>
  readonly bytes: Uint8Array
  readonly mediaType?: string | undefined
  readonly limits: DocumentLimits
}

/** Result or error. */
export type ParseResult = { readonly document: ReadDocument } | { readonly error: { readonly code: ErrorCode; readonly message: string } }
