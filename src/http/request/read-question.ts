import { Compile } from 'typebox/compile'
import { CodedError, messageOf } from '../../../base/errors.ts'
import { AnswerRequestSchema, type AnswerRequest } from '../../rag/schema.ts'
import { describeValidation } from '../errors/describe-validation.ts'

const schema = Compile(AnswerRequestSchema)

/**
 * One question of several, checked as `POST /v1/answer` checks its body.
 * @throws invalid_request naming the field
 */
export function readQuestion(value: unknown): AnswerRequest {
  if (schema.Check(value)) return value
  const { message, field } = describeValidation(schema.Errors(value), 'question')
  throw new CodedError('invalid_request', message, { field })
}

/** A line of JSON. @throws invalid_request saying why it is none */
export function parseLine(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch (error) {
    throw new CodedError('invalid_request', `The line is not valid JSON (${messageOf(error)}).`)
  }
}
