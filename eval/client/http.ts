import { setTimeout as sleep } from 'node:timers/promises'
import { Type, type TSchema, type Static } from 'typebox'
import { Compile } from 'typebox/compile'
import { CodedError, isErrorCode, messageOf } from '../../base/errors.ts'
import { parseJson } from '../../base/json.ts'
import { AnswerResponseSchema, SearchResponseSchema } from '../../src/rag/schema.ts'
import type { AnswerClient } from './client.ts'

const ErrorBody = Compile(
  Type.Object({ error: Type.Object({ code: Type.String(), message: Type.String(), field: Type.Optional(Type.String()) }) }),
)

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

/** The pipeline of a running service. Busy answers (429, 503) that ask for no long wait, and broken connections, are tried again. */
export function createHttpClient(
  url: string,
  { key, attempts = 6, pauseMs = 250, busyMs = BUSY_MS }: HttpClientOptions = {},
): AnswerClient {
  const base = baseAddress(url)
  const headers = { 'content-type': 'application/json', ...(key !== undefined && { authorization: `Bearer ${checkedKey(key)}` }) }

  async function post<T extends TSchema>(route: string, body: unknown, schema: T): Promise<Static<T>> {
    const request = { method: 'POST', headers, body: JSON.stringify(body) }
    const started = performance.now()
    for (let attempt = 1; ; attempt++) {
      const last = attempt >= attempts
      let response: Response
      let text: string
      try {
        response = await fetch(base + route, request)
        text = await response.text()
      } catch (error) {
        if (last) throw unreachable(base, error)
        await sleep(pauseMs * 2 ** (attempt - 1))
        continue
      }
      if (response.ok) return checked(schema, text, base + route)
      if (response.status === 503 || response.status === 429) {
        const seconds = Number(response.headers.get('retry-after') ?? Number.NaN)
        const told = Number.isFinite(seconds)
        const waitMs = told ? Math.max(pauseMs, seconds * 1000) : pauseMs * 2 ** (attempt - 1)
        const goesOn = told ? performance.now() - started + waitMs <= busyMs : !last
        if (waitMs <= LONGEST_WAIT_MS && goesOn) {
          await sleep(waitMs)
          // Being told when to come again is no failure.
          if (told) attempt--
          continue
        }
      }
      throw serviceError(response.status, text, base + route)
    }
  }

  return {
    name: base,
    answer: (request) => post('/v1/answer', request, AnswerResponseSchema),
    search: (request) => post('/v1/search', request, SearchResponseSchema),
    close: () => Promise.resolve(),
  }
}

function baseAddress(url: string): string {
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) {
    throw new CodedError(
      'options_invalid',
      `--url must be an http or https address such as http://127.0.0.1:8080, not ${JSON.stringify(url)}.`,
    )
  }
  // It is kept with the run, and shown.
  if (new URL(url).username !== '' || new URL(url).password !== '')
    throw new CodedError(
      'options_invalid',
      '--url must not hold a name or a password: give a key of the service with --key, or in CEPE_KEY.',
    )
  return url.replace(/\/+$/, '')
}

/** @throws options_invalid for what no header can hold; the runtime's own error would show it */
function checkedKey(key: string): string {
  if (/^[\x21-\x7e]+$/.test(key)) return key
  throw new CodedError(
    'options_invalid',
    'The key (--key, CEPE_KEY) is empty, or holds spaces or letters that no key has; it is not shown.',
  )
}

function unreachable(base: string, error: unknown): CodedError {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error
  return new CodedError('service_unreachable', `The service at ${base} does not answer (${messageOf(cause)}).`, { cause: error })
}

function checked<T extends TSchema>(schema: T, text: string, route: string): Static<T> {
  const value = parseJson(text)
  const validator = Compile(schema)
  if (validator.Check(value)) return value
  const [error] = validator.Errors(value)
  throw new CodedError(
    'service_unreachable',
    `${route} does not answer as this version's API does (${error?.instancePath ?? ''} ${error?.message ?? 'not JSON'}): is it a cepe service of the same version?`,
  )
}

function serviceError(status: number, text: string, route: string): Error {
  const body = parseJson(text)
  if (!ErrorBody.Check(body))
    return new CodedError('service_unreachable', `${route} answered ${status} without an error body: is it a cepe service?`)
  const { code, message, field } = body.error
  const remedy = code === 'unauthorized' ? ' (here: --key, or CEPE_KEY)' : ''
  return new CodedError(isErrorCode(code) ? code : 'internal', message + remedy, { ...(field === undefined ? {} : { field }) })
}
