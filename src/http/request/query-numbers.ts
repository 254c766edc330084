import { TypeBoxValidatorCompiler } from '@fastify/type-provider-typebox'
import type { FastifySchemaValidationError } from 'fastify'
import { Type } from 'typebox'
import Value from 'typebox/value'

const WRITTEN: ReadonlyMap<unknown, RegExp> = new Map([
  ['integer', /^-?\d+$/],
  ['number', /^-?\d+(?:\.\d+)?(?:e[+-]?\d+)?$/i],
])
const PropertiesSchema = Type.Object({ properties: Type.Record(Type.String(), Type.Object({ type: Type.Optional(Type.String()) })) })

/**
 * The provider's compiler with strict numbers in a query: it would convert '' to 0, `true` to 1 and 1.5 to 1. Errors are worded as for a
 * body's fields.
 */
export const validatorCompiler: typeof TypeBoxValidatorCompiler = (route) => {
  const validate = TypeBoxValidatorCompiler(route)
  if (route.httpPart !== 'querystring' || !Value.Check(PropertiesSchema, route.schema)) return validate
  const fields = Object.entries(route.schema.properties)
  return (query: unknown) => {
    const error = fields.map(([name, { type }]) => problemOf(query, name, type)).find((found) => found !== undefined)
    return error === undefined ? validate(query) : { error: [error] as never }
  }
}

function problemOf(query: unknown, name: string, type: string | undefined): FastifySchemaValidationError | undefined {
  const value = (query as Readonly<Record<string, unknown>>)[name]
  const written = WRITTEN.get(type)
  if (written === undefined || typeof value !== 'string' || written.test(value)) return undefined
  return { keyword: 'type', instancePath: `/${name}`, schemaPath: '', params: { type }, message: `must be ${type}` }
}
