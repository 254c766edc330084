import fp from 'fastify-plugin'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { CodedError } from '../../../base/errors.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The body may take any time while data keeps arriving. */
    upload?: boolean
  }
}

export interface BodyTimeoutOptions {
  /** Milliseconds for a complete body. */
  readonly bodyMs: number
  /** Milliseconds without data after which an upload is aborted. */
  readonly uploadIdleMs: number
}

/** Closes connections whose body does not arrive in time, so that slow bodies do not hold memory. */
export const bodyTimeout = fp((app: FastifyInstance, { bodyMs, uploadIdleMs }: BodyTimeoutOptions, done) => {
  app.addHook('onRequest', (request, reply, next) => {
    if (hasBody(request)) watch(request, reply)
    next()
  })

  function watch(request: FastifyRequest, reply: FastifyReply): void {
    const { raw } = request
    const upload = request.routeOptions.config.upload === true
    let seen = raw.socket.bytesRead
    const check = (): void => {
      if (raw.complete || raw.destroyed) return
      const { bytesRead } = raw.socket
      // After the response, the rest of an upload gets no more time than any body.
      if (upload && !reply.sent && bytesRead > seen) {
        seen = bytesRead
        timer = setTimeout(check, uploadIdleMs).unref()
        return
      }
      if (reply.sent) raw.destroy()
      else void reply.header('connection', 'close').send(late(upload, upload ? uploadIdleMs : bodyMs))
    }
    let timer = setTimeout(check, upload ? uploadIdleMs : bodyMs).unref()
    raw.once('close', () => clearTimeout(timer))
  }
  done()
})

/** True if a body is announced. */
export function hasBody({ headers }: Pick<FastifyRequest, 'headers'>): boolean {
  const { 'transfer-encoding': encoding, 'content-length': length } = headers
  return encoding !== undefined || (length !== undefined && Number(length) > 0)
}

function late(upload: boolean, ms: number): CodedError {
  return new CodedError(
    'request_timeout',
    upload
      ? `Nothing of the upload arrived for ${ms} ms (CEPE_UPLOAD_IDLE_MS); nothing was indexed. Send it again.`
      : `The body did not arrive within ${ms} ms (CEPE_REQUEST_TIMEOUT_MS). Send it again.`,
    { field: 'body' },
  )
}
