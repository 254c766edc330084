import { type TSchema, type Static } from 'typebox'
import { Compile } from 'typebox/compile'
import { CodedError, isErrorCode } from '../../base/errors.ts'
import { CepeError, createClient } from '../../src/client/index.ts'
import { AnswerResponseSchema, SearchResponseSchema } from '../../src/rag/schema.ts'
import type { AnswerClient } from './client.ts'

export interface HttpClientOptions {
  /** A key of the service, where it wants one. It is sent, and goes nowhere else: into no message, no file. */
  readonly key?: string
  /** Tries per request where the service is out of reach, or busy without a Retry-After. */
  readonly attempts?: number
  /** Milliseconds for which a request that a busy service refuses with a Retry-After is sent again, however often. */
  readonly busyMs?: number
  /** Milliseconds before the second try; doubled for each further one, and the least that is waited. The service's Retry-After goes first. */
  readonly pauseMs?: number
}

/** Busy services and limits by the minute are waited for; a key whose day's questions are used up would be waited for until tomorrow. */
const LONGEST_WAIT_MS = 120_000
/** Questions of others may keep a service busy for long; each of them ends. */
const BUSY_MS = 3_600_000

/**
 * The pipeline of a running service, by the published client. Busy answers (429, 503) that ask for no long wait, and broken
 * connections, are tried again; responses are checked, so that another version's are not measured.
 * @throws options_invalid for an address or a key that is none
 */
export function createHttpClient(
  url: string,
  { key, attempts = 6, pauseMs = 250, busyMs = BUSY_MS }: HttpClientOptions = {},
): AnswerClient {
  const retry = { attempts, pauseMs, busyMs, longestWaitMs: LONGEST_WAIT_MS }
  const client = coded(() => createClient({ url, key, retry }))
  return {
    name: client.url,
    answer: async (request) => checked(AnswerResponseSchema, await client.answer(request).catch(rethrow), `${client.url}/v1/answer`),
    search: async (request) => checked(SearchResponseSchema, await client.search(request).catch(rethrow), `${client.url}/v1/search`),
    close: () => Promise.resolve(),
  }
}

function checked<T extends TSchema>(schema: T, value: unknown, route: string): Static<T> {
  const validator = Compile(schema)
  if (validator.Check(value)) return value
  const [error] = validator.Errors(value)
  throw new CodedError(
    'service_unreachable',
    `${route} does not answer as this version's API does (${error?.instancePath ?? ''} ${error?.message ?? ''}): is it a cepe service of the same version?`,
  )
}

function coded<T>(make: () => T): T {
  try {
    return make()
  } catch (error) {
    return rethrow(error)
  }
}

/** The error as a command says it. */
function rethrow(error: unknown): never {
  if (!(error instanceof CepeError)) throw error
  const { code, message, field, cause } = error
  const details = { ...(field !== undefined && { field }), ...(cause !== undefined && { cause }) }
  if (code === 'unexpected_response') throw new CodedError('service_unreachable', message, details)
  if (code === 'options_invalid') throw new CodedError(code, `The service (--url, --key or CEPE_KEY): ${message}`, details)
  const remedy = code === 'unauthorized' ? ' (here: --key, or CEPE_KEY)' : ''
  throw new CodedError(isErrorCode(code) ? code : 'internal', message + remedy, details)
}
