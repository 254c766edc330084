import type { FastifyError, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { Value } from 'typebox/value'
import { clipped } from '../../../../base/sentences.ts'
import { CodedError } from '../../../../base/errors.ts'
import { documentedErrors } from '../../errors/error-body.ts'
import type { Described } from '../../errors/describe-error.ts'

const OpenAiErrorSchema = Type.Object(
  {
    error: Type.Object({
      message: Type.String(),
      type: Type.String(),
      param: Type.Union([Type.String(), Type.Null()]),
      code: Type.Union([Type.String(), Type.Null()]),
    }),
  },
  { title: 'OpenAiError' },
)

/** Error responses of a route's schema, in OpenAI's format. */
export function openAiErrorResponses(...statuses: number[]) {
  return documentedErrors(OpenAiErrorSchema, statuses)
}

/** An unknown model; OpenAI's clients expect its code with the 404. */
export class UnknownModelError extends CodedError {
  constructor(model: string) {
    super('not_found', `The model "${clipped(model, 100)}" does not exist: GET /v1/models lists those that do.`, { field: 'model' })
  }
}

function typeOf(status: number): string {
  if (status === 401) return 'authentication_error'
  if (status === 403) return 'permission_error'
  return status === 429 ? 'rate_limit_error' : status >= 500 ? 'server_error' : 'invalid_request_error'
}

/** A body with fields that OpenAI's API does not have. */
const BodySchema = Type.Object({ cepe: Type.Optional(Type.Record(Type.String(), Type.Unknown())) })
/** Names here of what POST /v1/answer has under another name. */
const NAMES: Readonly<Record<string, readonly string[]>> = {
  question: ['messages', 'input'],
  messages: ['input'],
  sampling: ['temperature'],
  response_format: ['text'],
}

/** Path of a field in the request: the answer pipeline names fields as POST /v1/answer has them, and here some of those are in `cepe`. */
function pathOf(field: string, body: unknown): string {
  const [name = field] = field.split(/[.[]/)
  if (!Value.Check(BodySchema, body) || name in body) return field
  return NAMES[name]?.find((one) => one in body) ?? (name in (body.cepe ?? {}) ? `cepe.${field}` : field)
}

/** An error in OpenAI's format. */
export function openAiErrorBody({ status, code, message, field }: Described, request: FastifyRequest, error: FastifyError) {
  const own = error instanceof UnknownModelError ? 'model_not_found' : code
  const param = field === undefined ? null : pathOf(field, request.body)
  return { error: { message: message.replace(/^sampling\b/, 'temperature'), type: typeOf(status), param, code: own } }
}
