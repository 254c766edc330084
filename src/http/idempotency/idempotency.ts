import { createHash } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type, type Static } from 'typebox'
import { Value } from 'typebox/value'
import { readdir, rm, rmdir, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { CodedError, conflict, unprocessable } from '../../../base/errors.ts'
import { readText } from '../../../base/exists.ts'
import { hashing } from '../../../base/files.ts'
import { ageOf } from '../../../base/clock.ts'
import { writeFileDurably } from '../../../base/durable.ts'
import { parseSealed, sealed } from '../../../base/json.ts'
import { takeLock } from '../../../base/locks/lock.ts'

const HEADER = 'idempotency-key'

/** For the schema of a route with idempotency keys. */
export const IdempotencyHeaders = Type.Object({
  [HEADER]: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 255,
      description:
        'Idempotency key. A retry with the same body within 24 hours returns the first response (header idempotency-replayed); another body is rejected with 422.',
    }),
  ),
})

interface Work<T> {
  /** The collection that is changed. A key of one collection is unrelated to the same key of another. */
  readonly collection: string
  /** Fingerprint of the request, distinct for different requests; may read the rest of the body. Default: that of a parsed body. */
  readonly fingerprint?: () => string | Promise<string>
  readonly work: () => Promise<T>
}

/** Runs a request's work once per idempotency key. @returns the body of the response */
export type Once = <T>(request: FastifyRequest, reply: FastifyReply, work: Work<T>) => Promise<T>

/** Retention of stored responses, and their maximum number; the oldest are evicted first. */
const KEEP_RESPONSES_MS = 24 * 3_600_000
const MAX_RESPONSES = 10_000
/** Responses stored between two removals of expired ones. */
const EXPIRY_EVERY = 100
const NOT_KEPT = 'An idempotency key could not be stored or released: a retry may be processed again, or rejected for a while.'

const StoredResponseSchema = Type.Object({
  /** Fingerprint of the request. */
  request: Type.String(),
  found: Type.Boolean({ description: 'False for an answer 404.' }),
  body: Type.Unknown(),
  at: Type.Number({ description: 'Milliseconds since 1970.' }),
  collection: Type.Optional(Type.String({ description: 'Not recorded by earlier software.' })),
})
type StoredResponse = Static<typeof StoredResponseSchema>

interface OnceOptions {
  readonly folder: (collection: string) => string
  readonly keepMs?: number
  readonly most?: number
}

/**
 * Processes requests with an idempotency key once; those without one always. Responses are stored in one small file each: they survive a
 * restart and are shared by all processes of an index. A response that cannot be stored is sent: after an error the work would be repeated.
 * @throws conflict while any process handles another request with the key, and for a damaged response; unprocessable for a key of another
 * request
 */
export function onceIn({ folder: folderOf, keepMs = KEEP_RESPONSES_MS, most = MAX_RESPONSES }: OnceOptions): Once {
  /** Responses stored since the last removal of expired ones, by folder. */
  const counts = new Map<string, number>()

  const store = async (file: string, response: Omit<StoredResponse, 'at'>): Promise<void> => {
    await writeFileDurably(file, JSON.stringify(sealed({ ...response, at: Date.now() })))
    const folder = dirname(file)
    const stored = counts.get(folder) ?? 0
    counts.set(folder, (stored + 1) % EXPIRY_EVERY)
    if (stored === 0) await removeExpired(folder, keepMs, most)
  }

  return async (request, reply, { collection, fingerprint = () => requestFingerprint(request), work }) => {
    const key = request.headers[HEADER]
    if (typeof key !== 'string') return work()
    const folder = folderOf(collection)
    const name = createHash('sha256').update(key).digest('hex').slice(0, 40)
    const file = join(folder, `${name}.json`)
    const orWarn = (done: Promise<void>): Promise<void> => done.catch((err: unknown) => request.log.error({ err }, NOT_KEPT))
    const keep = async (found: boolean, body: unknown): Promise<void> =>
      store(file, { request: await fingerprint(), found, body, collection })
    const lock = await takeLock(join(folder, `${name}.lock`), 0)
    const busy = 'A request with this idempotency key is in progress: wait for its response.'
    if (lock === undefined) throw new CodedError('conflict', busy, { field: HEADER, retryAfterS: 1 })
    try {
      const text = await readText(file)
      const stored = parseSealed(text ?? '')
      if (!Value.Check(StoredResponseSchema, stored) || (stored.collection ?? collection) !== collection) {
        const problem = `The response stored for this idempotency key is damaged (${name}.json)`
        if (text !== undefined && (await fileAge(file)) < keepMs)
          throw conflict(HEADER, `${problem}: check whether the request was processed, and use a new key if not.`)
      } else if (ageOf(stored.at) < keepMs) {
        const message = 'This idempotency key was used for another request in the last 24 hours: use a new key for each request.'
        if (stored.request !== (await fingerprint())) throw unprocessable(HEADER, message)
        void reply.header('idempotency-replayed', 'true')
        return again(stored) as Awaited<ReturnType<typeof work>>
      }
      try {
        const body = await work()
        await orWarn(keep(true, body))
        return body
      } catch (error) {
        if (error instanceof CodedError && error.code === 'not_found')
          await orWarn(keep(false, { message: error.message, field: error.field }))
        throw error
      }
    } finally {
      await orWarn(lock.release())
    }
  }
}

/** Fingerprint of a request with a parsed body. */
export function requestFingerprint({ method, url, body }: Pick<FastifyRequest, 'method' | 'url' | 'body'>): string {
  return digest(method, url, JSON.stringify(body ?? null))
}

/** Hashes a streamed body; the rest is read for the fingerprint. */
export function hashedBody({ method, url }: Pick<FastifyRequest, 'method' | 'url'>, body: AsyncIterable<unknown>) {
  const hash = createHash('sha256')
  const bytes = hashing(hash, body as AsyncIterable<Buffer>)
  return {
    bytes,
    fingerprint: async () => {
      for await (const _ of bytes) continue
      return digest(method, url, hash.copy().digest('hex'))
    },
  }
}

function digest(...parts: string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64url')
}

const NothingSchema = Type.Object({ message: Type.String(), field: Type.Optional(Type.String()) })

/** Returns a stored response; a stored not_found is thrown again, so that it is sent like other errors. */
function again({ found, body }: StoredResponse): unknown {
  if (found) return body
  const { message, field } = Value.Parse(NothingSchema, body)
  throw new CodedError('not_found', message, { field })
}

/** Removes expired responses, and the oldest if there are too many. */
async function removeExpired(folder: string, keepMs: number, most: number): Promise<void> {
  const files = await Promise.all((await readdir(folder)).map(async (name) => ({ name, age: await fileAge(join(folder, name)) })))
  const answers = files.filter(({ name }) => name.endsWith('.json')).sort((a, b) => a.age - b.age)
  for (const { name } of answers.filter(({ age }, i) => age > keepMs || i >= most)) await rm(join(folder, name), { force: true })
  for (const { name, age } of files) {
    // Only unclaimed files are empty.
    if (name.endsWith('.lock') && age > keepMs) await rmdir(join(folder, name)).catch(() => undefined)
    else if (!name.endsWith('.json') && age > keepMs) await rm(join(folder, name), { force: true, recursive: true })
  }
}

async function fileAge(path: string): Promise<number> {
  const found = await stat(path).catch(() => undefined)
  return found === undefined ? 0 : ageOf(found.mtimeMs)
}
