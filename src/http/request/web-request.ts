import type { FastifyReply, FastifyRequest } from 'fastify'
import { streamResponse } from './stream-response.ts'

/** Base of URLs in place of the requested host, which need not be valid. */
const LOCAL = 'http://localhost'

/** Converts a request with a parsed body to a fetch Request. @param signal aborts when its client disconnects */
export function webRequest({ method, headers, url }: FastifyRequest, signal: AbortSignal): Request {
  const own = new Headers()
  for (const [name, value] of Object.entries(headers)) for (const one of [value ?? []].flat()) own.append(name, one)
  return new Request(new URL(url, LOCAL), { method, headers: own, signal })
}

/** Sends a fetch Response, streaming its body. */
export async function sendWebResponse(reply: FastifyReply, response: Response): Promise<FastifyReply> {
  void reply.code(response.status)
  const type = response.headers.get('content-type')
  if (response.body !== null && type?.startsWith('text/event-stream') === true)
    return streamResponse(reply, 'text/event-stream', response.body.pipeThrough(new TextDecoderStream()))
  if (type !== null) void reply.type(type)
  return reply.send(response.body === null ? undefined : await response.text())
}
