import { subscribe } from 'node:diagnostics_channel'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Compile, type Validator } from 'typebox/schema'
import { keptOrMade } from '../../base/at.ts'
import { isObject } from '../../base/json.ts'

/**
 * Checks every response of every service in this process against its OpenAPI document: status, media type and body. JSON is compared with
 * what the handler returned, since the serializer leaves out fields that the schema does not have, and converts values of other types.
 * A difference is an uncaught error, which fails the test.
 */
interface Operation {
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, { readonly schema: object }>> }>>
}
interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: object
}

/** Media types of what is sent on demand by routes that are documented with their JSON. */
const ON_DEMAND: readonly string[] = ['text/event-stream', 'application/x-ndjson']

/** By the routes: most services of a test have the same, and a document takes long to make. */
const documents = new Map<string, OpenApi>()
/** The routes of a service as they were registered, then as a key. */
const routes = new WeakMap<object, unknown[] | string>()
const returned = new WeakMap<FastifyRequest, unknown>()
const validators = new WeakMap<object, Validator>()

function documentOf({ server }: FastifyRequest): OpenApi {
  const registered = routes.get(server.server) ?? []
  const key = typeof registered === 'string' ? registered : JSON.stringify(registered)
  routes.set(server.server, key)
  return keptOrMade(documents, key, () => server.swagger() as unknown as OpenApi)
}

function problemOf(request: FastifyRequest, reply: FastifyReply, payload: unknown): string | undefined {
  const { url, schema } = request.routeOptions
  // Neither a route of the document, nor one of the plugin that shows it.
  if (url === undefined || schema?.hide === true || !('operationId' in (schema ?? {}))) return undefined
  const { components, paths } = documentOf(request)
  const path = paths[url.replace(/:(\w+)/g, '{$1}')]
  const operation = path?.[request.method.toLowerCase().replace('head', 'get')]
  if (operation === undefined) return 'is no operation of the document'
  const response = operation.responses[reply.statusCode]
  if (response === undefined) return `status ${reply.statusCode} is not documented`
  const type = String(reply.getHeader('content-type') ?? '').replace(/;.*/, '')
  const content = response.content?.[type]
  if (ON_DEMAND.includes(type) && reply.statusCode === 200) return undefined
  if (payload === undefined || payload === null || payload === '')
    return response.content && request.method !== 'HEAD' ? 'has no body' : undefined
  if (content === undefined) return `the type ${type} is not documented for ${reply.statusCode}`
  if (type !== 'application/json' || typeof payload !== 'string') return undefined
  const sent: unknown = JSON.parse(payload)
  const validator = validators.get(content) ?? Compile({ components, ...content.schema })
  validators.set(content, validator)
  if (!validator.Check(sent))
    return `${payload.slice(0, 300)} is not as documented: ${JSON.stringify(validator.Errors(sent)).slice(0, 500)}`
  if (!returned.has(request)) return undefined
  return lost(JSON.parse(JSON.stringify(returned.get(request))), sent, '')
}

/** What handlers leave to the serializer: the table of a snapshot is an internal name. */
const INTERNAL: readonly string[] = ['table']

/** The first place where a value that was returned is not what was sent. */
function lost(one: unknown, sent: unknown, path: string): string | undefined {
  if (Array.isArray(one) && Array.isArray(sent) && one.length === sent.length)
    return one.map((item, i) => lost(item, sent[i], `${path}.${i}`)).find((problem) => problem !== undefined)
  if (isObject(one) && isObject(sent))
    return Object.keys({ ...one, ...sent })
      .filter((name) => name in sent || !INTERNAL.includes(name))
      .map((name) => lost(one[name], sent[name], `${path}.${name}`))
      .find((problem) => problem !== undefined)
  return Object.is(one, sent) ? undefined : `${path} was ${JSON.stringify(one)} and is sent as ${JSON.stringify(sent)}`
}

subscribe('fastify.initialization', (message) => {
  const { fastify: app } = message as { fastify: FastifyInstance }
  const registered: unknown[] = []
  routes.set(app.server, registered)
  app.addHook('onRoute', ({ method, url, schema, config }) => void registered.push({ method, url, schema, config }))
  app.addHook('preSerialization', (request, _reply, payload, next) => {
    returned.set(request, payload)
    next(null, payload)
  })
  app.addHook('onSend', (request, reply, payload, next) => {
    // Of a client that has left there is only the log.
    const problem = reply.statusCode === 499 ? undefined : problemOf(request, reply, payload)
    if (problem !== undefined)
      process.nextTick(() => {
        throw new Error(`${request.method} ${request.url} ${reply.statusCode}: ${problem}`)
      })
    next(null, payload)
  })
})
