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
