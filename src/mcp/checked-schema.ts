import type { StandardSchemaWithJSON } from '@modelcontextprotocol/server'
import type { Static, TObject } from '#typebox'
import { Compile } from '#typebox/compile'
import { CodedError } from '../../base/errors.ts'
import { describeValidation } from '../http/errors/describe-validation.ts'

/** Adapts a schema to the SDK, which only shows it to clients as JSON schema: `checked` validates. */
export function shownSchema(schema: TObject): StandardSchemaWithJSON<unknown, unknown> {
  const shown = (): Record<string, unknown> => Object.fromEntries(Object.entries(schema))
  return { '~standard': { version: 1, vendor: 'typebox', validate: (value) => ({ value }), jsonSchema: { input: shown, output: shown } } }
}

/** Validates values with the messages of the HTTP API: the SDK's validation would put its own text in front of the error's code. */
export function checked<Schema extends TObject>(schema: Schema): (value: unknown) => Static<Schema> {
  const compiled = Compile(schema)
  return (value) => {
    if (compiled.Check(value)) return value
    const { message, field } = describeValidation(compiled.Errors(value), 'value')
    throw new CodedError('invalid_request', message, field === undefined ? {} : { field })
  }
}
