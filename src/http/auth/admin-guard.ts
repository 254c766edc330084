import type { FastifyInstance, onRequestAsyncHookHandler } from 'fastify'
import { CodedError } from '../../../base/errors.ts'

/** For the schema of a route that needs the key. */
export const ADMIN_SECURITY = [{ adminKey: [] }]

/**
 * Guard of the admin routes. Runs as onRequest, so that an upload without the key is refused before its body is read.
 * Without any admin key every request is refused: a service must not become open by an oversight.
 * @param app with the plugin that looks keys up
 */
export function adminGuard(app: FastifyInstance): onRequestAsyncHookHandler {
  return async (request) => {
    if (!app.hasAdminKey())
      throw new CodedError(
        'forbidden',
        'The admin routes are disabled: set CEPE_ADMIN_KEY, or create an admin key (cepe keys add <name> --admin).',
      )
    const { role, name } = await app.needKey(request, 'an admin')
    // Asking with a user's key is no attempt at guessing.
    if (role !== 'admin') throw new CodedError('forbidden', `This route needs an admin key, and ${name} is a user's.`)
  }
}

/** In the guard's place where nothing can be changed: the admin routes do not exist for a replica's clients. Before the body is read. */
export const refuseChanges: onRequestAsyncHookHandler = () =>
  Promise.reject(new CodedError('not_found', 'This process is a read-only replica: send the request to the indexer.'))
