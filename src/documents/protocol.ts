import type { ErrorCode } from '../../base/errors.ts'
import type { DocumentLimits, DocumentType, ReadDocument } from './contract.ts'

/** One file for the process that reads it. */
export interface ChildJob {
  readonly type: Exclude<DocumentType, 'text' | 'markdown'>
  readonly bytes: Uint8Array
  readonly mediaType?: string | undefined
  readonly limits: DocumentLimits
}

/** What came of it. */
export type ChildResult = { readonly document: ReadDocument } | { readonly error: { readonly code: ErrorCode; readonly message: string } }
