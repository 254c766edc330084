import type { FastifySchemaValidationError } from 'fastify'
import type { Static, TSchema } from 'typebox'
import { Compile } from 'typebox/compile'
import { Settings } from 'typebox/system'
import { CodedError, invalidField } from '../../../base/errors.ts'
import { HALF_PAIR, halfPairIn } from '../../../base/json.ts'
import { TABLE_NAME, TABLE_NAME_FORM } from '../../../index/table-name.ts'

// Every alternative of a union reports errors: with the default limit of 8 the last ones would be lost, and the closest missed.
Settings.Set({ maxErrors: 64 })

/** Returns a function that validates values like bodies of requests. @param where name of the value @throws invalid_request naming the field */
export function checked<Schema extends TSchema>(schema: Schema, where: string): (value: unknown) => Static<Schema> {
  const compiled = Compile(schema)
  return (value) => {
    const half = halfPairIn(value)
    if (half !== undefined) throw invalidField(half || where, HALF_PAIR)
    if (compiled.Check(value)) return value
    const { message, field } = describeValidation(compiled.Errors(value), where)
    throw new CodedError('invalid_request', message, { field })
  }
}

/** The problem of a field, or parameter, that a route does not have. */
export const UNKNOWN = 'is not a known field; see /docs for the fields of this route'

/**
 * Describes the first problem in terms of the request: unknown fields first, since they are typing errors.
 * @returns also its field; undefined for the whole request
 */
export function describeValidation(errors: readonly FastifySchemaValidationError[], where: string) {
  const relevant = withoutUnions(errors)
  const error = relevant.find(({ keyword }) => keyword === 'additionalProperties') ?? relevant[0]
  if (error === undefined) return { field: undefined, message: `The ${where} is not valid.` }
  // A JSON pointer (RFC 6901, section 4).
  const path = error.instancePath
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
  const { additionalProperties: unknown, requiredProperties: missing } = error.params
  const named = error.keyword === 'additionalProperties' ? [first(unknown)] : error.keyword === 'required' ? [first(missing)] : []
  const field = [...path, ...named.map(String)].join('.') || undefined
  return { field, message: `${field ?? `The ${where}`} ${problemOf(error)}.` }
}

/**
 * Reduces the errors of a union, which list every alternative, to those of the closest alternative: the one with the fewest errors on the
 * value itself, where a wrong type weighs most. Equally close alternatives are combined.
 */
function withoutUnions(errors: readonly FastifySchemaValidationError[]): readonly FastifySchemaValidationError[] {
  const union = errors.find(({ keyword }) => keyword === 'anyOf')
  if (union === undefined) return errors
  const prefix = `${union.schemaPath}/anyOf/`
  const branches = new Map<string, FastifySchemaValidationError[]>()
  for (const error of errors) {
    if (!error.schemaPath.startsWith(prefix)) continue
    const branch = error.schemaPath.slice(prefix.length).split('/', 1).join()
    branches.set(branch, [...(branches.get(branch) ?? []), error])
  }
  const weigh = ({ instancePath, keyword }: FastifySchemaValidationError): number =>
    instancePath !== union.instancePath ? 0 : keyword === 'type' || keyword === 'const' ? 2 : 1
  const rest = errors.filter((error) => error !== union && !error.schemaPath.startsWith(prefix))
  const ranked = [...branches.values()]
    .map((branch) => ({ branch, weight: branch.reduce((sum, error) => sum + weigh(error), 0) }))
    .sort((a, b) => a.weight - b.weight)
  const [best, second] = ranked
  if (best === undefined) return withoutUnions(rest)
  if (best.weight === second?.weight) {
    const together = combined(ranked.filter(({ weight }) => weight === best.weight).map(({ branch }) => branch))
    if (together) return withoutUnions([...rest, together])
  }
  return withoutUnions([...rest, ...best.branch])
}

/** Combines alternatives with similar errors; undefined if they differ in kind. */
function combined(branches: readonly FastifySchemaValidationError[][]): FastifySchemaValidationError | undefined {
  const firsts = branches.flatMap((branch) => branch.find(({ keyword }) => keyword !== 'boolean') ?? [])
  const [one] = firsts
  if (one === undefined || firsts.some(({ keyword }) => keyword !== one.keyword)) return undefined
  const all = (name: string): unknown[] => [...new Set(firsts.map(({ params }) => first(params[name])))]
  const say = (message: string): FastifySchemaValidationError => ({ ...one, keyword: 'anyOf alike', message })
  if (one.keyword === 'type') return say(`must be ${all('type').join(' or ')}`)
  if (one.keyword === 'const') return say(`must be one of ${all('allowedValue').join(', ')}`)
  if (one.keyword === 'required') return say(`must have ${all('requiredProperties').join(' or ')}`)
  if (one.keyword !== 'additionalProperties') return undefined
  return all('additionalProperties').length > 1 ? say(`must not have ${all('additionalProperties').join(' and ')} together`) : one
}

function first(value: unknown): unknown {
  return Array.isArray(value) ? (value as unknown[]).at(0) : value
}

function problemOf({ keyword, params, message }: FastifySchemaValidationError): string {
  if (keyword === 'additionalProperties') return UNKNOWN
  // One of many unknown fields, where the error that lists them all is cut off.
  if (keyword === 'boolean') return UNKNOWN
  if (keyword === 'required') return 'is missing'
  if (keyword === 'pattern' && params['pattern'] === '\\S') return 'must not be blank'
  if (keyword === 'pattern' && params['pattern'] === TABLE_NAME) return TABLE_NAME_FORM
  if (keyword === 'enum' && Array.isArray(params['allowedValues'])) return `must be one of ${params['allowedValues'].join(', ')}`
  if (/^min(Length|Items)$/.test(keyword) && params['limit'] === 1) return 'must not be empty'
  if (keyword === 'minLength') return `must not be shorter than ${String(params['limit'])} characters`
  if (keyword === 'maxLength') return `must not be longer than ${String(params['limit'])} characters`
  return message ?? 'is not valid'
}
