import { CodedError, type ErrorCode } from '../../base/errors.ts'

/** Why a file is not read, with the code of the error. */
const CODES = {
  not_supported: 'unsupported_media_type',
  encrypted: 'document_invalid',
  damaged: 'document_invalid',
  encoding: 'document_invalid',
  too_slow: 'document_invalid',
  too_much_memory: 'document_invalid',
  without_text: 'document_without_text',
  scanned: 'document_without_text',
  too_large: 'payload_too_large',
} as const satisfies Record<string, ErrorCode>

export type DocumentProblem = keyof typeof CODES
export const DOCUMENT_PROBLEMS: readonly string[] = Object.keys(CODES)

/** Of a picture. */
export const NEEDS_OCR = 'Pictures are read by OCR only, which is switched off: set CEPE_OCR.'

/** A file that is not read, and why. */
export class DocumentError extends CodedError {
  readonly problem: DocumentProblem

  constructor(problem: DocumentProblem, message: string, cause?: unknown) {
    super(CODES[problem], message, { field: 'file', cause })
    this.name = 'DocumentError'
    this.problem = problem
  }
}
