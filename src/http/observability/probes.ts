import type { FastifyRequest } from 'fastify'

/** True for routes of probes, which bypass rate limits and admission. */
export function isProbe({ routeOptions }: FastifyRequest): boolean {
  return routeOptions.url === '/healthz' || routeOptions.url === '/readyz'
}
