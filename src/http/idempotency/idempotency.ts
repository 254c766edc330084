import { createHash } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from '#typebox'
import { Value } from '#typebox/value'
import { CodedError } from '../../../base/errors.ts'
import type { StoredResponse, StoredResponses } from './stored-responses.ts'

const HEADER = 'idempotency-key'

/** For the schema of a route with idempotency keys. */
export const IdempotencyHeaders = Type.Object({
  [HEADER]: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 255,
      description:
        'A name of your own for this request. Sent again with the same body within 24 hours, it gets the first answer again (with the header idempotency-replayed) and nothing is done twice; with another body it is refused (422). An answer is kept where the request succeeded or found nothing (404).',
    }),
  ),
})

export interface Work<T> {
  /** The collection that is changed, a key of which is none of another; the main one where absent. */
  readonly collection?: string
  /** Fingerprint of the request, distinct for different requests; may read the rest of the body. */
  readonly fingerprint: () => string | Promise<string>
  readonly work: () => Promise<T>
}

/** Runs a request's work once per idempotency key. @returns the body of the response */
export type Once = <T>(request: FastifyRequest, reply: FastifyReply, work: Work<T>) => Promise<T>

/**
 * Processes requests with an idempotency key once; those without one always. A response is sent even if it cannot be stored: after an error
 * the client would repeat the work.
 * @param main collection, whose keys are kept as they are
 * @throws conflict, unprocessable
 */
export function onceFor(answers: Pick<StoredResponses, 'claim'>, main: string): Once {
  return async <T>(request: FastifyRequest, reply: FastifyReply, { collection = main, fingerprint, work }: Work<T>): Promise<T> => {
    const key = request.headers[HEADER]
    if (typeof key !== 'string') return work()
    const claim = await answers.claim(collection === main ? key : `${collection}\n${key}`)
    const orWarn = (done: Promise<void>): Promise<void> =>
      done.catch((error: unknown) =>
        request.log.error(
          { err: error },
          'An idempotency key could not be stored or released: a retry may be processed again, or rejected for a while.',
        ),
      )
    const keep = async (answer: Pick<StoredResponse, 'found' | 'body'>): Promise<void> =>
      claim.keep({ request: await fingerprint(), ...answer })
    try {
      if (claim.kept !== undefined) {
        if (claim.kept.request !== (await fingerprint())) throw reused()
        void reply.header('idempotency-replayed', 'true')
        return again(claim.kept) as T
      }
      try {
        const body = await work()
        await orWarn(keep({ found: true, body }))
        return body
      } catch (error) {
        if (error instanceof CodedError && error.code === 'not_found')
          await orWarn(keep({ found: false, body: { message: error.message, field: error.field } }))
        throw error
      }
    } finally {
      await orWarn(claim.release())
    }
  }
}

/** Fingerprint of a request with a parsed body. */
export function requestFingerprint({ method, url, body }: Pick<FastifyRequest, 'method' | 'url' | 'body'>): string {
  return digest(method, url, JSON.stringify(body ?? null))
}

/** Hashes a streamed body; the rest is read for the fingerprint. */
export function hashedBody(
  { method, url }: Pick<FastifyRequest, 'method' | 'url'>,
  body: AsyncIterable<unknown>,
): { readonly bytes: AsyncIterable<Buffer>; readonly fingerprint: () => Promise<string> } {
  const hash = createHash('sha256')
  const read = async function* (): AsyncGenerator<Buffer> {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      hash.update(chunk)
      yield chunk
    }
  }
  const bytes = read()
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

function reused(): CodedError {
  return new CodedError(
    'unprocessable',
    'This idempotency key was used for another request in the last 24 hours: send each new request with a key of its own.',
    { field: HEADER },
  )
}
