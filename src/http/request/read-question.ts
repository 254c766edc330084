import { Compile } from '#typebox/compile'
import { CodedError, messageOf } from '../../../base/errors.ts'
import { AnswerRequestSchema, type AnswerRequest } from '../../rag/schema.ts'
import { describeValidation } from '../errors/describe-validation.ts'

const schema = Compile(AnswerRequestSchema)

/**
 * Validates one question of several like the body of `POST /v1/answer`.
 * @throws invalid_request naming the field
 */
export function readQuestion(value: unknown): AnswerRequest {
  if (schema.Check(value)) return value
  const { message, field } = describeValidation(schema.Errors(value), 'question')
  throw new CodedError('invalid_request', message, { field })
}

/** Parses a line of JSON. @throws invalid_request with the reason */
export function parseLine(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch (error) {
    throw new CodedError('invalid_request', `The line is not valid JSON (${messageOf(error)}).`)
  }
}
