import type { FastifyRequest } from 'fastify'

/** True for the routes that supervisors ask: they are answered whatever else is refused. */
export function isProbe({ routeOptions }: FastifyRequest): boolean {
  return routeOptions.url === '/healthz' || routeOptions.url === '/readyz'
}
