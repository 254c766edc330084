import { normalizeIP } from '@fastify/rate-limit'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { RunOptions } from '../../inference/contract.ts'
import { clientOfKey } from '../../keys/record.ts'
import { together } from '../observability/observers.ts'

/** Run options of a request: its deadline, its client's disconnect, and its client id: its key, or its address, of IPv6 the network. */
export function runOptions(request: FastifyRequest, reply: FastifyReply, deadlineMs: number): RunOptions {
  const { holder, ip } = request
  return {
    signal: clientSignal(reply),
    deadlineMs,
    client: holder === null ? normalizeIP(ip) : clientOfKey(holder.name),
    observe: together(request.observers),
  }
}

/**
 * Aborts when the client disconnects before its response is sent. Not Fastify's `request.signal`: that follows the request stream, which
 * also closes once the body has been read.
 */
export function clientSignal(reply: FastifyReply): AbortSignal {
  const controller = new AbortController()
  const { raw } = reply
  const gone = (): void => {
    if (!raw.writableFinished) controller.abort()
  }
  // It may have disconnected already.
  if (raw.closed) gone()
  else raw.once('close', gone)
  return controller.signal
}

/** The weight of a media type in an `Accept` header (RFC 9110, section 12.5.1): 0 rejects it. @returns undefined if it is not named */
export function weightOf(accept: string, type: string): number | undefined {
  for (const range of accept.toLowerCase().split(',')) {
    const [name, ...parameters] = range.split(';').map((part) => part.trim())
    if (name !== type) continue
    const weight = parameters.find((parameter) => parameter.startsWith('q='))
    return weight === undefined ? 1 : Number(weight.slice(2))
  }
  return undefined
}
