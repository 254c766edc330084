import { isUtf8 } from 'node:buffer'
import { CodedError } from '../../../base/errors.ts'

/**
 * Decodes a body without a byte order mark. JSON must be UTF-8 (RFC 8259, section 8.1): text of another encoding would be stored or asked
 * with replaced letters.
 * @throws invalid_request
 */
export function utf8Body(body: string | Buffer): string {
  if (typeof body === 'string') return body
  if (!isUtf8(body)) throw new CodedError('invalid_request', 'The body is not UTF-8: send it in that encoding.')
  return body.toString('utf8').replace(/^\ufeff/, '')
}
