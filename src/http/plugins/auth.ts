import { createHash, timingSafeEqual } from 'node:crypto'
import type { onRequestAsyncHookHandler } from 'fastify'
import { CodedError } from '../../../base/errors.ts'

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

/**
 * Guard of the admin routes: `Authorization: Bearer <key>`, compared in constant time.
 * Runs as onRequest, so that an upload without the key is refused before its body is read.
 * @param adminKey without one every request is refused: a service must not become open by an oversight
 */
export function adminGuard(adminKey: string | undefined): onRequestAsyncHookHandler {
  const expected = adminKey === undefined ? undefined : digest(adminKey)
  return (request) => {
    if (expected === undefined) {
      return Promise.reject(new CodedError('forbidden', 'The admin routes are off: start the service with CEPE_ADMIN_KEY to use them.'))
    }
    const given = /^Bearer (.+)$/i.exec(request.headers.authorization ?? '')?.[1]
    if (given === undefined || !timingSafeEqual(digest(given), expected)) {
      return Promise.reject(new CodedError('unauthorized', 'This route needs the admin key: send it as Authorization: Bearer <key>.'))
    }
    return Promise.resolve()
  }
}
