import { normalizeIP } from '@fastify/rate-limit'
import type { FastifyInstance } from 'fastify'
import type { Socket } from 'node:net'
import { CodedError } from '../../../base/errors.ts'
import { createSharedSlots } from '../../../base/fair-share.ts'
import { mostOpenFiles } from '../../../base/process.ts'
import type { Config } from '../../settings.ts'
import { isProbe } from '../observability/observers.ts'

/** Connections beyond the bound, for probes and refusals. The oldest is closed for another one. */
const RESERVE = 32
/** Longest time of a connection of the reserve. */
const RESERVE_MS = 5_000

/**
 * Bounds open connections by half of the process's descriptors, so that files of the index can be opened. One address may have half of
 * them; those of several share all. On further connections probes are answered, and other requests refused.
 */
export function connections(app: FastifyInstance, { MAX_CONNECTIONS: most, TRUST_PROXY: proxies }: Config): void {
  // Addresses of connections from proxies do not name clients.
  const proxied = proxies !== ''
  const bound = Math.min(most, Math.floor(mostOpenFiles() / 2))
  if (bound < most)
    app.log.warn(
      `At most ${bound} connections are open at a time, half of the descriptors that the process may have (ulimit -n): CEPE_MAX_CONNECTIONS is ${most}.`,
    )
  const slots = createSharedSlots(proxied ? bound : Math.ceil(bound / 2))
  const reserve = new Set<Socket>()

  app.server.on('connection', (socket: Socket) => {
    const release = slots.take(proxied ? '' : normalizeIP(socket.remoteAddress ?? ''))
    if (release !== undefined) return void socket.once('close', release)
    const [oldest] = reserve
    if (reserve.size >= RESERVE) oldest?.destroy()
    reserve.add(socket)
    const timer = setTimeout(() => socket.destroy(), RESERVE_MS).unref()
    socket.once('close', () => {
      clearTimeout(timer)
      reserve.delete(socket)
    })
  })
  app.addHook('onRequest', (request, reply, next) => {
    if (!reserve.has(request.raw.socket)) return next()
    void reply.header('connection', 'close')
    if (isProbe(request)) return next()
    const message = 'Too many connections are open, in all or from this address (CEPE_MAX_CONNECTIONS): close some, or try again later.'
    next(new CodedError('overloaded', message))
  })
}
