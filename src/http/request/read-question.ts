import { isUtf8 } from 'node:buffer'
import type { FastifyRequest } from 'fastify'
import { CodedError, invalidField, invalidRequest, reasonOf, orThrow } from '../../../base/errors.ts'
import { isTooDeep, repeatedName, TOO_DEEP, TWICE } from '../../../base/json.ts'
import { AnswerRequestSchema } from '../../rag/schema.ts'
import { checked } from '../errors/describe-validation.ts'
import { charsetOf } from './upload-parts.ts'

/** Validates one question of several like the body of `POST /v1/answer`. @throws invalid_request naming the field */
export const readQuestion = checked(AnswerRequestSchema, 'question')

/** Parses a line of JSON. @throws invalid_request with the reason */
export function parseLine(line: string): unknown {
  const value = orThrow(
    () => JSON.parse(line) as unknown,
    (error) => invalidRequest(undefined, `The line is not valid JSON (${reasonOf(error)}).`),
  )
  if (isTooDeep(value)) throw invalidRequest(undefined, `The line ${TOO_DEEP}.`)
  const twice = repeatedName(line)
  if (twice !== undefined) throw invalidField(twice, TWICE)
  return value
}

/**
 * Decodes a body without a byte order mark. JSON must be UTF-8 (RFC 8259, section 8.1): text of another encoding would be stored or asked
 * with other letters.
 * @throws invalid_request; unsupported_media_type for a content type that names another encoding
 */
export function utf8Body(body: string | Buffer, { headers }: Pick<FastifyRequest, 'headers'>): string {
  const charset = charsetOf(headers['content-type']) ?? 'utf-8'
  if (!/^(?:utf-?8|us-ascii)$/i.test(charset))
    throw new CodedError('unsupported_media_type', `The charset ${charset} is not supported: send UTF-8.`, { field: 'content-type' })
  if (typeof body === 'string') return body
  if (!isUtf8(body)) throw new CodedError('invalid_request', 'The body is not UTF-8: send it in that encoding.')
  return body.toString('utf8').replace(/^\ufeff/, '')
}
