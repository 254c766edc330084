import type { FastifyInstance } from 'fastify'
import { CodedError } from '../../../base/errors.ts'
import { isLoopback } from '../../../base/loopback.ts'
import { listed } from '../../config.ts'
import type { Keys } from '../../keys/keys.ts'
import type { Config } from '../../settings.ts'
import { isProbe } from '../observability/observers.ts'

/** Names that no foreign page can have. */
const OWN = ['localhost', '127.0.0.1', '[::1]']

/**
 * Rejects requests for another host if nothing else protects the service: any page can resolve its own name to a loopback address (DNS
 * rebinding) and then read a service without keys. Its requests still carry that name. Needs the auth plugin: a request with a key is
 * exempt.
 */
export function host(app: FastifyInstance, keys: Keys, { HOST: listening, ALLOWED_HOSTS: names }: Config): void {
  const allowed = listed(names)
  const checked = isLoopback(listening) || allowed.length > 0
  const known = new Set([...OWN, listening.includes(':') ? `[${listening}]` : listening, ...allowed].map((name) => name.toLowerCase()))
  app.addHook('onRequest', (request, _reply, next) => {
    const { host: asked } = request.headers
    // Only HTTP/1.0 may omit it, which no browser uses.
    if (!checked || asked === undefined || request.holder !== null || keys.required || isProbe(request)) return next()
    if (known.has(asked.replace(/:\d*$/, '').toLowerCase())) return next()
    const message = `This service is not known as ${JSON.stringify(asked.slice(0, 100))}: ask it as localhost or 127.0.0.1, or add the name to CEPE_ALLOWED_HOSTS.`
    next(new CodedError('misdirected_request', message, { field: 'Host' }))
  })
}
