import type { FastifyReply } from 'fastify'

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
