import type { FastifyRequest } from 'fastify'

/** The key that a request was sent with (`Authorization: Bearer <key>`); undefined where there is none. */
export function bearerOf({ headers }: Pick<FastifyRequest, 'headers'>): string | undefined {
  return /^Bearer +(.+)$/i.exec(headers.authorization ?? '')?.[1]
}
