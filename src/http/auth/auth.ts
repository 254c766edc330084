import { timingSafeEqual } from 'node:crypto'
import type { FastifyInstance, FastifyRequest, onRequestAsyncHookHandler } from 'fastify'
import { CodedError } from '../../../base/errors.ts'
import type { Holder, Keys } from '../../keys/keys.ts'
import { clientOfKey, hashKey } from '../../keys/record.ts'
import type { Config } from '../../settings.ts'

/** Wrong keys of an address in a minute that are answered 401; further ones are answered 429, and told when to try again. */
const WRONG_KEYS_PER_MINUTE = 30

declare module 'fastify' {
  interface FastifyRequest {
    /** Who sent it; null where no key that is good came with it. */
    holder: Holder | null
  }
  interface FastifyInstance {
    /** Who sent a request. @param kind of key @throws unauthorized without a good key, rate_limited with one wrong key too many */
    needKey(request: FastifyRequest, kind: string): Promise<Holder>
    /** Guards the admin routes as onRequest hook, so that an upload without the key is rejected before its body is read. */
    requireAdmin: onRequestAsyncHookHandler
  }
}

/**
 * Who may ask, and how much: every request's key is looked up; where there are user keys, the routes that answer from the corpus need one.
 * Needs the rate limit's plugin. Wrong keys are limited by address; a good key is never refused for them, since many clients may share an address.
 */
export function auth(app: FastifyInstance, keys: Keys, { ADMIN_KEY: adminKey, ROLE: role }: Config): void {
  const bySetting = adminKey === undefined ? undefined : hashKey(adminKey)
  const wrongKeys = app.createRateLimit({ max: WRONG_KEYS_PER_MINUTE, timeWindow: '1 minute' })
  const requests = app.createRateLimit({
    max: ({ holder }: FastifyRequest) => holder?.requests_per_minute ?? Infinity,
    keyGenerator: ({ holder }: FastifyRequest) => clientOfKey(holder?.name ?? ''),
    timeWindow: '1 minute',
  })

  const find = (key: string | undefined): Holder | null => {
    if (key === undefined) return null
    if (bySetting !== undefined && timingSafeEqual(hashKey(key), bySetting)) return { name: 'CEPE_ADMIN_KEY', role: 'admin' }
    return keys.find(key) ?? null
  }

  const needKey = async (request: FastifyRequest, kind: string): Promise<Holder> => {
    const { holder } = request
    if (holder !== null) return holder
    if (bearerOf(request) === undefined) throw unauthorized(kind, '')
    limit(await wrongKeys(request), 'Too many wrong keys came from this address')
    throw unauthorized(kind, ', and the one that was sent is unknown or revoked')
  }

  app.decorateRequest('holder', null)
  app.addHook('onRequest', async (request) => {
    request.holder = find(bearerOf(request))
    const holder = keys.required && needsUserKey(request.routeOptions.url) ? await needKey(request, 'a') : request.holder
    const most = holder?.requests_per_minute
    if (most !== undefined) limit(await requests(request), `The key ${holder?.name} may send ${most} requests a minute`)
  })
  app.decorate('needKey', needKey)
  app.decorate('requireAdmin', async (request: FastifyRequest) => {
    if (role === 'replica') throw new CodedError('not_found', 'This process is a read-only replica: send the request to the indexer.')
    // Without any admin key every request is rejected: a service must not be open by accident.
    const disabled = 'The admin routes are disabled: set CEPE_ADMIN_KEY, or create an admin key (cepe keys add <name> --admin).'
    if (bySetting === undefined && !keys.hasAdmin) throw new CodedError('forbidden', disabled)
    const holder = await needKey(request, 'an admin')
    // A user's key is not an attempt at guessing.
    if (holder.role !== 'admin') throw new CodedError('forbidden', `This route needs an admin key, and ${holder.name} is a user's.`)
  })
}

/** @throws rate_limited if a count is above its limit */
function limit(count: Awaited<ReturnType<ReturnType<FastifyInstance['createRateLimit']>>>, problem: string): void {
  if (count.isAllowed || !count.isExceeded) return
  const { ttlInSeconds: retryAfterS } = count
  throw new CodedError('rate_limited', `${problem}: try again in ${retryAfterS} s.`, { retryAfterS })
}

function unauthorized(kind: string, problem: string): CodedError {
  return new CodedError('unauthorized', `This route needs ${kind} key${problem}: send it as Authorization: Bearer <key>.`)
}

/** The key that a request was sent with (`Authorization: Bearer <key>`); undefined where there is none. */
function bearerOf({ headers }: Pick<FastifyRequest, 'headers'>): string | undefined {
  return /^Bearer +(.+)$/i.exec(headers.authorization ?? '')?.[1]
}

/** Routes outside /v1 that answer from the corpus, with paths that clients expect. */
const OTHERS: readonly string[] = ['/mcp', '/rerank', '/v2/rerank']

/** Whether a route needs a key if the service has user keys. @param url of the route, not of the request */
export function needsUserKey(url: string | undefined): boolean {
  return url !== undefined && (url.startsWith('/v1/') || OTHERS.includes(url))
}
