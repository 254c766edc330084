import type { FastifyReply, FastifyRequest } from 'fastify'
import { streamResponse } from './stream-response.ts'

/** Stands in addresses for whatever name the service was asked by, which need not be valid. */
const LOCAL = 'http://localhost'

/** A request whose body was read already, as handlers of the fetch standard take it. @param signal aborts when its client goes away */
export function webRequest({ method, headers, url }: FastifyRequest, signal: AbortSignal): Request {
  const own = new Headers()
  for (const [name, value] of Object.entries(headers)) for (const one of [value ?? []].flat()) own.append(name, one)
  return new Request(new URL(url, LOCAL), { method, headers: own, signal })
}

/** Sends what such a handler answers; a stream as it comes about. */
export async function sendWebResponse(reply: FastifyReply, response: Response): Promise<FastifyReply> {
  void reply.code(response.status)
  const type = response.headers.get('content-type')
  if (response.body !== null && type?.startsWith('text/event-stream') === true)
    return streamResponse(reply, 'text/event-stream', response.body.pipeThrough(new TextDecoderStream()))
  if (type !== null) void reply.type(type)
  return reply.send(response.body === null ? undefined : await response.text())
}
