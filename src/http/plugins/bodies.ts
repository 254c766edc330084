import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { CodedError, invalidField, invalidRequest, reasonOf } from '../../../base/errors.ts'
import { HALF_PAIR, halfPairIn, isTooDeep, repeatedName, TOO_DEEP, TWICE } from '../../../base/json.ts'
import type { Config } from '../../settings.ts'
import { UNKNOWN } from '../errors/describe-validation.ts'
import { utf8Body } from '../request/read-question.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The handler reads the body: a corpus for any time while data keeps arriving, a document within `DOCUMENT_PERIODS`. */
    upload?: 'corpus' | 'document'
    /** The handler checks the items of the body, each of which fails alone. */
    checksItems?: boolean
  }
}

/** Least rate of an upload in each period of CEPE_UPLOAD_IDLE_MS: a client that sends a byte now and then holds memory, files and leases too. */
const BYTES_PER_MS = 1
/** Periods for a document, which takes one of few places in memory. */
const DOCUMENT_PERIODS = 10

/** Closes connections whose body does not arrive in time, so that slow bodies do not hold memory, files and leases. */
export function bodyTimeout(app: FastifyInstance, { REQUEST_TIMEOUT_MS: bodyMs, UPLOAD_IDLE_MS: uploadIdleMs }: Config): void {
  app.addHook('onRoute', (route) => {
    const { handler, config } = route
    if (config?.upload === undefined) return
    route.handler = async function (request, reply) {
      try {
        const response: unknown = await handler.call(this, request, reply)
        return response
      } catch (error) {
        // The body was refused while the handler was reading it.
        if (!reply.sent) throw error
        request.log.info({ err: error }, 'the body was not read to its end')
      }
    }
  })
  app.addHook('onRequest', (request, reply, next) => {
    if (hasBody(request)) watch(request, reply)
    next()
  })
  // Closing a connection with unread data resets it, and its client would not see the response: the rest is read, for the time of a body.
  app.addHook('onSend', (request, reply, payload, next) => {
    const { raw } = request
    if (hasBody(request) && !raw.complete && reply.statusCode !== 408) {
      // A client that asked for it waits for the connection to close.
      if (!reply.raw.shouldKeepAlive)
        reply.raw.once('finish', () => (raw.complete ? raw.socket.destroySoon() : raw.once('end', () => raw.socket.destroySoon())))
      void reply.header('connection', 'keep-alive')
      raw.unpipe().resume()
    }
    next(null, payload)
  })

  function watch(request: FastifyRequest, reply: FastifyReply): void {
    const { raw } = request
    const { upload } = request.routeOptions.config
    const ms = upload === undefined ? bodyMs : uploadIdleMs
    let periods = upload === 'corpus' ? Infinity : upload === 'document' ? DOCUMENT_PERIODS : 1
    let seen = raw.socket.bytesRead
    const check = (): void => {
      if (raw.complete || raw.destroyed) return
      const { bytesRead } = raw.socket
      // After the response, the rest of an upload gets no more time than any body.
      if (!reply.sent && --periods > 0 && bytesRead - seen >= ms * BYTES_PER_MS) {
        seen = bytesRead
        timer = setTimeout(check, ms).unref()
        return
      }
      if (reply.sent) raw.destroy()
      else refuseBody(reply, late(upload, ms))
    }
    let timer = setTimeout(check, ms).unref()
    raw.once('close', () => clearTimeout(timer))
  }
}

/**
 * Refuses a request whose body is being received. Then ends the body: without that, a handler that reads it would wait for ever, since
 * Node.js does not end the body of an answered request when its connection closes.
 */
export function refuseBody(reply: FastifyReply, error: CodedError): void {
  reply.raw.once('close', () => reply.request.raw.destroy())
  void reply.header('connection', 'close').send(error)
}

/** True if a body is announced. */
export function hasBody({ headers }: Pick<FastifyRequest, 'headers'>): boolean {
  const { 'transfer-encoding': encoding, 'content-length': length } = headers
  return encoding !== undefined || (length !== undefined && Number(length) > 0)
}

function late(upload: 'corpus' | 'document' | undefined, ms: number): CodedError {
  const rest = upload === 'document' ? ` and be complete after ${ms * DOCUMENT_PERIODS} ms` : '; nothing was indexed'
  const problem =
    upload === undefined
      ? `The body did not arrive within ${ms} ms (CEPE_REQUEST_TIMEOUT_MS)`
      : `The upload stopped or was too slow: it must bring ${ms * BYTES_PER_MS} bytes in ${ms} ms (CEPE_UPLOAD_IDLE_MS)${rest}`
  return new CodedError('request_timeout', `${problem}. Send it again.`, { field: 'body' })
}

const TYPE = 'application/json'
/** A body is UTF-8, so that only escapes can make half of a surrogate pair. */
const HALF_ESCAPE = /\\ud[89a-f]/i

/** Parses JSON bodies by the framework's parser (which rejects `__proto__`); errors name the position. */
export function jsonBodies(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser('error', 'error')
  app.removeContentTypeParser(TYPE)
  app.addContentTypeParser(TYPE, { parseAs: 'buffer' }, (request, body, parsed) => {
    // Many clients send a content type without a body.
    const takesBody = request.routeOptions.schema?.body !== undefined
    if (body.length === 0) return parsed(takesBody ? invalidRequest(undefined, 'The body is empty: send JSON.') : null, undefined)
    const text = utf8Body(body, request)
    void parse(request, text, (error, value: unknown) => {
      if (error === null && isTooDeep(value)) return parsed(invalidRequest(undefined, `The body ${TOO_DEEP}.`), undefined)
      const half = request.routeOptions.config.checksItems !== true && HALF_ESCAPE.test(text) ? halfPairIn(value) : undefined
      if (error !== null) return parsed(invalidRequest(undefined, problemOf(text)), undefined)
      if (half !== undefined) return parsed(invalidField(half || 'body', HALF_PAIR), value)
      const twice = repeatedName(text)
      if (twice !== undefined) return parsed(invalidField(twice, TWICE), value)
      // A route that takes no body would read the request as another, as with unknown parameters.
      const [name] = takesBody ? [] : Object.keys(value ?? {})
      parsed(name === undefined ? null : invalidField(name, UNKNOWN), value)
    })
  })
}

function problemOf(text: string): string {
  try {
    JSON.parse(text)
  } catch (error) {
    return `The body is not valid JSON (${reasonOf(error)}).`
  }
  return 'The body holds a key __proto__, or constructor with prototype: neither is taken.'
}
