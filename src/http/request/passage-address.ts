import type { FastifyRequest } from 'fastify'

/** Where whoever sent a request can read a passage, by its id. @param basePath under which a proxy serves the API */
export function passageAddress({ protocol, host }: FastifyRequest, basePath: string): (id: string) => string {
  return (id) => `${protocol}://${host}${basePath}/v1/passages/${encodeURIComponent(id)}`
}
