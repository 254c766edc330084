/** Codes of this folder; the same names as the service's error codes, so that HTTP and the command line map them by name. */
export type IndexErrorCode =
  | 'invalid_request'
  | 'not_found'
  | 'conflict'
  | 'payload_too_large'
  | 'unsupported_media_type'
  | 'client_closed'
  | 'internal'
  | 'index_missing'
  | 'index_invalid'
  | 'corpus_invalid'
  | 'disk_full'

/** An error of the index that a user can act on: the message names what is wrong, where, and the remedy. */
export class IndexError extends Error {
  readonly code: IndexErrorCode
  /** The file, option or column at fault, as the user wrote it. */
  readonly field?: string

  constructor(code: IndexErrorCode, message: string, field?: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'IndexError'
    this.code = code
    if (field !== undefined) this.field = field
  }
}

/** The error's text, whatever was thrown. */
export const textOf = (thrown: unknown): string => (thrown instanceof Error ? thrown.message : String(thrown))

/** The operating system's code of a thrown error ('ENOENT', ...), or undefined. */
export const osCode = (thrown: unknown): string | undefined =>
  thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : undefined

/** What LanceDB says of an error, without where in its own source it arose. */
export const lanceText = (thrown: unknown): string => textOf(thrown).replace(/,?\s*\/\S*\/cargo\/[^]*$/, '').slice(0, 300)

/** True where the cause is a full disk or an exhausted quota; LanceDB reports both as text only. */
export const isDiskFull = (thrown: unknown): boolean =>
  ['ENOSPC', 'EDQUOT'].includes(osCode(thrown) ?? '') || /no space left on device|disk quota exceeded|os error (28|122)\b/i.test(textOf(thrown))
