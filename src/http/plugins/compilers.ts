import type { FastifySchemaCompiler, FastifySchemaValidationError } from 'fastify'
import { Type, type TSchema } from 'typebox'
import { Compile } from 'typebox/compile'
import Value from 'typebox/value'
import fastJsonStringify, { type AnySchema } from 'fast-json-stringify'

const WRITTEN: ReadonlyMap<unknown, RegExp> = new Map([
  ['integer', /^-?\d+$/],
  ['number', /^-?\d+(?:\.\d+)?(?:e[+-]?\d+)?$/i],
])
const PropertiesSchema = Type.Object({ properties: Type.Record(Type.String(), Type.Object({ type: Type.Optional(Type.String()) })) })

/** Compiles a schema; whatever is not a body comes as text and is converted first. */
const compile: FastifySchemaCompiler<TSchema> = ({ schema, httpPart }) => {
  const compiled = Compile(schema)
  return (given: unknown) => {
    const value = httpPart === 'body' ? given : Value.Convert(schema, given)
    return compiled.Check(value) ? { value } : { error: compiled.Errors(value) as never }
  }
}

/** Strict numbers in a query: conversion would make '' 0, `true` 1 and 1.5 1. Errors are worded as for a body's fields. */
export const validatorCompiler: FastifySchemaCompiler<TSchema> = (route) => {
  const validate = compile(route)
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

type Serialize = (data: object) => string

const compiled = new Map<string, Serialize>()

/**
 * Fastify's own serializers, but one for equal schemas: every route documents a dozen statuses with the same error body, and compiling
 * each of them took most of the time in which the application is built.
 */
export function serializerCompiler({ schema }: { readonly schema: AnySchema }): Serialize {
  // What is only for the documentation does not count.
  const key = JSON.stringify({ ...schema, description: undefined, headers: undefined })
  const known = compiled.get(key)
  if (known) return known
  const serialize = fastJsonStringify(schema)
  compiled.set(key, serialize)
  return serialize
}
