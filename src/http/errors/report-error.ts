import type { FastifyError, FastifyRequest } from 'fastify'
import type { ErrorCode } from '../../../base/errors.ts'
import { describeError, type Described } from './describe-error.ts'
import type { ErrorBody } from './error-body.ts'
import type { PublicText } from './public-text.ts'

/** Codes of an overloaded or closing service, which are not faults. */
const NO_ALARM: readonly ErrorCode[] = ['overloaded', 'not_ready']

/** Describes an error for the client and logs it in full. */
export function reportError(error: FastifyError, request: FastifyRequest, publicText: PublicText): Described {
  const described = describeError(error, request)
  const { status, code, message, field } = described
  request.failedWith = code
  request.log[status >= 500 && !NO_ALARM.includes(code) ? 'error' : 'info']({ err: error, code }, 'request failed')
  const shown = (text: string): string => publicText(text, status < 500)
  return { ...described, message: shown(message), ...(field !== undefined && { field: shown(field) }) }
}

/** The documented body of an error. */
export function errorBody({ code, message, field }: Described, request: FastifyRequest): ErrorBody {
  return { error: { code, message, ...(field !== undefined && { field }), request_id: request.id } }
}
