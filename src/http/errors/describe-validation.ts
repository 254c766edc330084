import type { FastifySchemaValidationError } from 'fastify'
import { Settings } from 'typebox/system'

// Of a union every alternative objects: with the default of 8 objections the last ones would go unheard, and the nearest be missed.
Settings.Set({ maxErrors: 64 })

/** What is wrong with a request, and with which of its fields (undefined: with the whole). */
export interface Problem {
  readonly field: string | undefined
  readonly message: string
}

/** Says the first thing that is wrong, in the words of the request: unknown fields before all others, since they are typing errors. */
export function describeValidation(errors: readonly FastifySchemaValidationError[], where: string): Problem {
  const relevant = withoutUnions(errors)
  const error = relevant.find(({ keyword }) => keyword === 'additionalProperties') ?? relevant[0]
  if (error === undefined) return { field: undefined, message: `The ${where} is not valid.` }
  const field = (name?: string) => [...error.instancePath.split('/').filter(Boolean), ...(name === undefined ? [] : [name])].join('.')
  switch (error.keyword) {
    case 'additionalProperties': {
      const unknown = field(String(first(error.params['additionalProperties'])))
      return { field: unknown, message: `${unknown} is not a known field; see /docs for the fields of this route.` }
    }
    case 'required': {
      const missing = field(String(first(error.params['requiredProperties'])))
      return { field: missing, message: `${missing} is missing.` }
    }
    default: {
      const name = field()
      return { field: name === '' ? undefined : name, message: `${name === '' ? `The ${where}` : name} ${problemOf(error)}.` }
    }
  }
}

/**
 * Errors of a union name every alternative at once. The one that the request came closest to speaks for it: the one with
 * the fewest objections to the value as a whole, where a wrong type weighs most. Where no alternative is closer than the
 * others, they are put together.
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
  const rest = errors.filter((error) => error !== union && !error.schemaPath.startsWith(prefix))
  const ranked = [...branches.values()]
    .map((branch) => ({ branch, weight: branch.reduce((sum, error) => sum + objection(error, union.instancePath), 0) }))
    .sort((a, b) => a.weight - b.weight)
  const [best, second] = ranked
  if (best === undefined) return withoutUnions(rest)
  if (best.weight === second?.weight) {
    const together = combined(ranked.filter(({ weight }) => weight === best.weight).map(({ branch }) => branch))
    if (together) return withoutUnions([...rest, together])
  }
  return withoutUnions([...rest, ...best.branch])
}

function objection({ instancePath, keyword }: FastifySchemaValidationError, whole: string): number {
  if (instancePath !== whole) return 0
  return keyword === 'type' || keyword === 'const' ? 2 : 1
}

/** Alternatives that object alike, as one error; undefined where their objections differ in kind. */
function combined(branches: readonly FastifySchemaValidationError[][]): FastifySchemaValidationError | undefined {
  const firsts = branches.flatMap((branch) => branch.find(({ keyword }) => keyword !== 'boolean') ?? [])
  const [one] = firsts
  if (one === undefined || firsts.some(({ keyword }) => keyword !== one.keyword)) return undefined
  const all = (name: string): unknown[] => [...new Set(firsts.map(({ params }) => first(params[name])))]
  const say = (message: string): FastifySchemaValidationError => ({ ...one, keyword: 'anyOf alike', message })
  switch (one.keyword) {
    case 'type':
      return say(`must be ${all('type').join(' or ')}`)
    case 'const':
      return say(`must be one of ${all('allowedValue').join(', ')}`)
    case 'required':
      return say(`must have ${all('requiredProperties').join(' or ')}`)
    case 'additionalProperties':
      return all('additionalProperties').length > 1 ? say(`must not have ${all('additionalProperties').join(' and ')} together`) : one
    default:
      return undefined
  }
}

function first(value: unknown): unknown {
  return Array.isArray(value) ? (value as unknown[]).at(0) : value
}

function problemOf({ keyword, params, message }: FastifySchemaValidationError): string {
  if (keyword === 'pattern' && params['pattern'] === '\\S') return 'must not be blank'
  if (keyword === 'enum' && Array.isArray(params['allowedValues'])) return `must be one of ${params['allowedValues'].join(', ')}`
  if (keyword === 'minLength' && params['limit'] === 1) return 'must not be empty'
  if (keyword === 'minLength') return `must not be shorter than ${String(params['limit'])} characters`
  if (keyword === 'maxLength') return `must not be longer than ${String(params['limit'])} characters`
  return message ?? 'is not valid'
}
