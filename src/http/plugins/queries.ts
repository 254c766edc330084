import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { Value } from 'typebox/value'
import { attempt, type CodedError, invalidField } from '../../../base/errors.ts'
import { TWICE } from '../../../base/json.ts'
import { UNKNOWN } from '../errors/describe-validation.ts'

const QuerySchema = Type.Object({ properties: Type.Record(Type.String(), Type.Object({ type: Type.Optional(Type.String()) })) })
/** Conversion to a number would make '' 0, `true` 1 and 1.5 1. */
const WRITTEN: ReadonlyMap<unknown, RegExp> = new Map([
  ['integer', /^-?\d+$/],
  ['number', /^-?\d+(?:\.\d+)?(?:e[+-]?\d+)?$/i],
])

const ELSEWHERE = 'is not taken from the query here: name it as cepe.collection of a chat, or in the arguments of a tool'
const NO_VALUE = 'has a parameter that is not known, without a value; see /docs for those of this route'

/** Rejects queries that would be read as others, before the body is read: the parser keeps invalid percent signs and unknown parameters. */
export function queries(app: FastifyInstance): void {
  app.addHook('preParsing', (request, _reply, payload, next) => next(problemOf(request) ?? null, payload))
}

function problemOf({ originalUrl, query, routeOptions: { url = '', schema } }: FastifyRequest): CodedError | undefined {
  if (!originalUrl.includes('?')) return undefined
  const isPage = url === '/'
  for (const part of originalUrl.split('?').slice(1).join('?').split('&')) {
    // Addresses of the page are typed: browsers leave a percent sign alone.
    const text = isPage ? part.replace(/%(?![\da-f]{2})/gi, '%25') : part
    if (attempt(() => decodeURIComponent(text), undefined) !== undefined) continue
    const [name = ''] = part.split('=')
    const field = attempt(() => decodeURIComponent(name), 'query')
    return invalidField(field, 'is not valid: percent signs must begin the bytes of UTF-8')
  }
  const { querystring = { properties: {} }, tags } = schema ?? {}
  // Clients made for other APIs add parameters of their own; the page reads its own.
  if (!url.startsWith('/v1/') || tags?.includes('openai'))
    return isPage || !Object.hasOwn(query ?? {}, 'collection') ? undefined : invalidField('collection', ELSEWHERE)
  if (!Value.Check(QuerySchema, querystring)) return undefined
  for (const [name, value] of Object.entries(query ?? {})) {
    if (name === '') continue
    const parameter = Object.hasOwn(querystring.properties, name) ? querystring.properties[name] : undefined
    // A text alone may be a key: it is not repeated.
    if (parameter === undefined) return value === '' ? invalidField('query', NO_VALUE) : invalidField(name, UNKNOWN)
    if (Array.isArray(value)) return invalidField(name, TWICE)
    if (typeof value === 'string' && WRITTEN.get(parameter.type)?.test(value) === false)
      return invalidField(name, `must be ${parameter.type}`)
  }
  return undefined
}
