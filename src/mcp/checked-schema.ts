import type { StandardSchemaWithJSON } from '@modelcontextprotocol/server'
import type { Static, TObject } from 'typebox'
import { Compile } from 'typebox/compile'
import { describeValidation } from '../http/errors/describe-validation.ts'

/** A schema as the SDK takes it: shown to clients as JSON schema, and checked in the words of the HTTP API. */
export function checkedSchema<Schema extends TObject>(schema: Schema): StandardSchemaWithJSON<Static<Schema>, Static<Schema>> {
  const compiled = Compile(schema)
  const shown = (): Record<string, unknown> => Object.fromEntries(Object.entries(schema))
  return {
    '~standard': {
      version: 1,
      vendor: 'typebox',
      validate: (value) =>
        compiled.Check(value) ? { value } : { issues: [{ message: describeValidation(compiled.Errors(value), 'value').message }] },
      jsonSchema: { input: shown, output: shown },
    },
  }
}
