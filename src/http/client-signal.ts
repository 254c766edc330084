import type { FastifyReply } from 'fastify'

/**
 * Aborts when the client goes away before its answer is sent.
 * Not Fastify's `request.signal`: that follows the request stream, which also closes once the body has been read.
 */
export function clientSignal(reply: FastifyReply): AbortSignal {
  const controller = new AbortController()
  const { raw } = reply
  raw.once('close', () => {
    if (!raw.writableFinished) controller.abort()
  })
  return controller.signal
}
