import { createHash, timingSafeEqual } from 'node:crypto'
import type { FastifyInstance, onRequestAsyncHookHandler } from 'fastify'
import { CodedError } from '../../base/errors.ts'

/** Wrong keys that a client may try in a minute: enough for mistakes, useless for guessing. */
const WRONG_KEYS_PER_MINUTE = 30

/** For the schema of a route that needs the key. */
export const ADMIN_SECURITY = [{ adminKey: [] }]

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

/**
 * Guard of the admin routes: `Authorization: Bearer <key>`, compared in constant time.
 * Runs as onRequest, so that an upload without the key is refused before its body is read.
 * @param app with the rate limit's plugin: who has sent too many wrong keys is answered 429, whatever comes next
 * @param adminKey without one every request is refused: a service must not become open by an oversight
 */
export function adminGuard(app: FastifyInstance, adminKey: string | undefined): onRequestAsyncHookHandler {
  const expected = adminKey === undefined ? undefined : digest(adminKey)
  const wrongKeys = app.createRateLimit({ max: WRONG_KEYS_PER_MINUTE, timeWindow: '1 minute' })
  return async (request) => {
    if (expected === undefined)
      throw new CodedError('forbidden', 'The admin routes are off: start the service with CEPE_ADMIN_KEY to use them.')
    const given = /^Bearer (.+)$/i.exec(request.headers.authorization ?? '')?.[1]
    const right = given !== undefined && timingSafeEqual(digest(given), expected)
    const tried = await wrongKeys(request, { increment: !right })
    if (!tried.isAllowed && tried.isExceeded)
      throw new CodedError('rate_limited', `Too many wrong keys came from this address: try again in ${tried.ttlInSeconds} s.`, {
        retryAfterS: tried.ttlInSeconds,
      })
    if (!right) throw new CodedError('unauthorized', 'This route needs the admin key: send it as Authorization: Bearer <key>.')
  }
}

/** In the guard's place where nothing can be changed: the admin routes do not exist for a replica's clients. Before the body is read. */
export const refuseChanges: onRequestAsyncHookHandler = () =>
  Promise.reject(new CodedError('not_found', 'This process is a replica, which only answers: send this to the indexer.'))
