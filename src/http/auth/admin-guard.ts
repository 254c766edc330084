import type { FastifyInstance, onRequestAsyncHookHandler } from 'fastify'
import { CodedError } from '../../../base/errors.ts'

/** For the schema of a route that needs the key. */
export const ADMIN_SECURITY = [{ adminKey: [] }]

/**
 * Guards the admin routes as onRequest hook, so that an upload without the key is rejected before its body is read. Without any admin key
 * every request is rejected: a service must not be open by accident.
 * @param app with the auth plugin
 */
export function adminGuard(app: FastifyInstance): onRequestAsyncHookHandler {
  return async (request) => {
    if (!app.hasAdminKey())
      throw new CodedError(
        'forbidden',
        'The admin routes are disabled: set CEPE_ADMIN_KEY, or create an admin key (cepe keys add <name> --admin).',
      )
    const { role, name } = await app.needKey(request, 'an admin')
    // A user's key is not an attempt at guessing.
    if (role !== 'admin') throw new CodedError('forbidden', `This route needs an admin key, and ${name} is a user's.`)
  }
}

/** Replaces the guard in read-only roles: the admin routes do not exist for a replica's clients. Runs before the body is read. */
export const refuseChanges: onRequestAsyncHookHandler = () =>
  Promise.reject(new CodedError('not_found', 'This process is a read-only replica: send the request to the indexer.'))
