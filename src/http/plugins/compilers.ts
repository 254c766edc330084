import type { FastifySchemaCompiler } from 'fastify'
import type { TSchema } from 'typebox'
import { Compile } from 'typebox/compile'
import Value from 'typebox/value'
import { keptOrMade } from '../../../base/at.ts'
import fastJsonStringify, { type AnySchema } from 'fast-json-stringify'

/** Compiles a schema; whatever is not a body comes as text and is converted first. */
export const validatorCompiler: FastifySchemaCompiler<TSchema> = ({ schema, httpPart }) => {
  const compiled = Compile(schema)
  return (given: unknown) => {
    const value = httpPart === 'body' ? given : Value.Convert(schema, given)
    return compiled.Check(value) ? { value } : { error: compiled.Errors(value) as never }
  }
}

type Serialize = (data: object) => string

const compiled = new Map<string, Serialize>()

/**
 * Fastify's own serializers, but one for equal schemas: every route documents a dozen statuses with the same error body, and compiling
 * each of them took most of the time in which the application is built.
 */
export function serializerCompiler({ schema }: { readonly schema: AnySchema }): Serialize {
  // What is only for the documentation does not count.
  const key = JSON.stringify({ ...schema, description: undefined, headers: undefined })
  return keptOrMade(compiled, key, (): Serialize => fastJsonStringify(schema))
}
