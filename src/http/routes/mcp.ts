import type { onRequestHookHandler, FastifyReply, FastifyRequest } from 'fastify'
import { AsyncLocalStorage } from 'node:async_hooks'
import { Type } from 'typebox'
import { present } from '../../../base/at.ts'
import { CodedError } from '../../../base/errors.ts'
import { listed } from '../../config.ts'
import type { ToolContext } from '../../mcp/contract.ts'
import { inCollection } from '../../rag/pipeline.ts'
import { documentedErrors, ErrorBodySchema, errorResponses } from '../errors/error-body.ts'
import { reportError } from '../errors/describe-error.ts'
import { weightOf, runOptions } from '../request/run-options.ts'
import type { Routes } from './context.ts'
import { streamResponse } from '../request/stream-response.ts'

/** A single message: a batch would count as one request for the rate limit. */
const MessageSchema = Type.Object(
  { jsonrpc: Type.Literal('2.0'), method: Type.Optional(Type.String()), params: Type.Optional(Type.Object({})) },
  { description: 'A message of the Model Context Protocol (JSON-RPC 2.0).' },
)
const RpcErrorSchema = Type.Object(
  {
    jsonrpc: Type.Literal('2.0'),
    id: Type.Union([Type.String(), Type.Number(), Type.Null()]),
    error: Type.Object({ code: Type.Integer(), message: Type.String(), data: Type.Optional(Type.Unknown()) }),
  },
  { title: 'RpcError' },
)
const ANSWERED = 'The response message, as JSON or as a stream of one message, by the Accept header and protocol version.'

/**
 * POST /mcp: the Model Context Protocol over stateless streamable HTTP, so that any process can serve any request. Without
 * server-sent notifications there is nothing for GET and DELETE, which are rejected.
 */
export const mcpRoutes: Routes = (app, { access, config, version }) => {
  const calling = new AsyncLocalStorage<ToolContext>()
  // Loaded for the first message: the SDK takes a tenth of a second.
  const load = async () => {
    const { createMcpHandler, createToolServer } = await import('../../mcp/server.ts')
    return createMcpHandler(() => createToolServer(version, present(calling.getStore())), {
      maxSubscriptions: 0,
      onerror: (error) => app.log.info({ err: error }, 'a message of the Model Context Protocol was refused'),
    })
  }
  let handler: ReturnType<typeof load> | undefined
  app.addHook('onClose', async () => (await handler)?.close())
  const schema = {
    tags: ['mcp'],
    operationId: 'callTool',
    summary: 'Tools for agents (Model Context Protocol, streamable HTTP)',
    body: MessageSchema,
    response: {
      200: Type.Object({}, { description: ANSWERED }),
      202: { description: 'The notification was accepted.', type: 'null' },
      ...errorResponses(403, 404, 405),
      ...documentedErrors(RpcErrorSchema, [406]),
      ...documentedErrors(Type.Union([ErrorBodySchema, RpcErrorSchema], { title: 'McpRefusal' }), [400]),
    },
  }
  const onRequest = refuseOtherOrigins(listed(config.CORS_ORIGINS))
  app.post('/mcp', { config: { checksItems: true }, onRequest, schema }, async (request, reply) => {
    const run = runOptions(request, reply, config.DEADLINE_MS)
    const context: ToolContext = {
      services: async (collection) => ({
        index: await access.index(request, collection),
        answering: await inCollection(access.answering(request), collection),
        collections: (range) => access.page(request, range),
      }),
      run,
      failed: (error) => reportError(error, request),
    }
    const web = webRequest(request, run.signal ?? new AbortController().signal)
    const takes = (type: string): boolean => (weightOf(request.headers.accept ?? '*/*', type) ?? 0) > 0
    // Many plain HTTP clients accept JSON but no stream, against the protocol.
    const isPlain = !takes('text/event-stream') && ['application/json', 'application/*', '*/*'].some(takes)
    if (isPlain) web.headers.set('accept', 'application/json, text/event-stream')
    const { fetch } = await (handler ??= load())
    const response = await calling.run(context, () => fetch(web, { parsedBody: request.body }))
    return sendWebResponse(reply, isPlain ? await asJson(response) : response)
  })
}

/** The only message of a stream as a JSON response. */
async function asJson(response: Response): Promise<Response> {
  if (response.headers.get('content-type')?.startsWith('text/event-stream') !== true) return response
  const message = (await response.text()).split('\n').findLast((line) => /^data: *\S/.test(line)) ?? ''
  return new Response(message.replace(/^data: */, ''), { status: response.status, headers: { 'content-type': 'application/json' } })
}

/** Rejects requests from pages of other origins, as the protocol requires (Security Warning). */
function refuseOtherOrigins(allowed: readonly string[]): onRequestHookHandler {
  return ({ headers: { origin }, host }, _reply, next) => {
    if (origin === undefined || allowed.includes(origin) || (URL.canParse(origin) && new URL(origin).host === host)) return next()
    const message = `Pages of ${origin.slice(0, 100)} may not call tools here: add the origin to CEPE_CORS_ORIGINS.`
    next(new CodedError('forbidden', message, { field: 'Origin' }))
  }
}

/** A request with a parsed body as a fetch Request: its own host need not be valid. @param signal aborts when its client disconnects */
function webRequest({ method, headers, url }: FastifyRequest, signal: AbortSignal): Request {
  const own = new Headers()
  for (const [name, value] of Object.entries(headers)) for (const one of [value ?? []].flat()) own.append(name, one)
  return new Request(new URL(url, 'http://localhost'), { method, headers: own, signal })
}

async function sendWebResponse(reply: FastifyReply, response: Response): Promise<FastifyReply> {
  void reply.code(response.status)
  const type = response.headers.get('content-type')
  if (response.body !== null && type?.startsWith('text/event-stream') === true)
    return streamResponse(reply, 'text/event-stream', response.body.pipeThrough(new TextDecoderStream()))
  if (type !== null) void reply.type(type)
  return reply.send(response.body === null ? undefined : await response.text())
}
