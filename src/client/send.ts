import { CepeError, errorFrom, unreachable } from './errors.ts'

/** When to retry a request. */
export interface RetryOptions {
  /** Attempts per request if the service is unreachable, or busy without a Retry-After. Default: 3. */
  readonly attempts?: number
  /** Milliseconds before the second attempt, doubled for each further one; also the minimum wait. Default: 250. */
  readonly pauseMs?: number
  /** Milliseconds for which a request rejected with a Retry-After is retried. Default: 60,000. */
  readonly busyMs?: number
  /** A longer Retry-After, in milliseconds, is not waited for, for example of a daily quota. Default: 30,000. */
  readonly longestWaitMs?: number
}
type RetryPolicy = Required<RetryOptions>

export function retryPolicy({ attempts = 3, pauseMs = 250, busyMs = 60_000, longestWaitMs = 30_000 }: RetryOptions = {}): RetryPolicy {
  return { attempts, pauseMs, busyMs, longestWaitMs }
}

export interface Service {
  /** Address without a trailing slash. */
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly fetch: typeof fetch
  readonly retry: RetryPolicy
}

export interface ServiceRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** Path of the route, with its query. */
  readonly path: string
  /** Sent as JSON; a form is sent unchanged. */
  readonly body?: object | undefined
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal | undefined
}

const BUSY = [429, 503]

/**
 * Sends a request, with retries if the service is unreachable or busy.
 * @param take reads the response; a connection that breaks meanwhile is a failed attempt
 * @throws CepeError; the signal's reason once aborted
 */
export async function send<T>(service: Service, request: ServiceRequest, take: (response: Response) => Promise<T>): Promise<T> {
  const { signal } = request
  const started = performance.now()
  for (let attempt = 1; ; attempt++) {
    let error: CepeError
    try {
      const response = await fetchOnce(service, request)
      if (response.ok) return await take(response)
      error = refusal(response, await response.text(), service.url + request.path)
      if (!BUSY.includes(response.status)) throw error
    } catch (thrown) {
      if (signal?.aborted === true || thrown instanceof CepeError) throw thrown
      error = unreachable(service.url, thrown)
    }
    const { retryAfterS } = error
    const waitMs = waitBefore(attempt, performance.now() - started, retryAfterS, service.retry)
    if (waitMs === undefined) throw error
    await pause(waitMs, signal)
    // A Retry-After is not a failure.
    if (retryAfterS !== undefined) attempt--
  }
}

/**
 * @param attempt failed attempts without a Retry-After, including this one
 * @param sinceMs milliseconds since the first attempt
 * @returns milliseconds until the next attempt; undefined to give up
 */
function waitBefore(attempt: number, sinceMs: number, retryAfterS: number | undefined, policy: RetryPolicy): number | undefined {
  if (retryAfterS === undefined) return attempt < policy.attempts ? policy.pauseMs * 2 ** (attempt - 1) : undefined
  const waitMs = Math.max(policy.pauseMs, retryAfterS * 1000)
  return waitMs <= policy.longestWaitMs && sinceMs + waitMs <= policy.busyMs ? waitMs : undefined
}

/** @throws the signal's reason once aborted */
async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted()
  await new Promise<void>((resolve) => {
    const end = (): void => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    signal?.addEventListener('abort', end, { once: true })
  })
  signal?.throwIfAborted()
}

/** @throws unexpected_response if the body is not JSON */
export async function readJson(response: Response): Promise<unknown> {
  const text = await response.text()
  const value = parsed(text)
  if (value !== undefined) return value
  const message = `${response.url} does not answer as this version's API does (not JSON): is it a cepe service of the same version?`
  throw new CepeError('unexpected_response', message, { status: response.status })
}

/** Parses a JSON text; undefined if it is invalid. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

function fetchOnce({ url, headers, fetch }: Service, { method, path, body, headers: own, signal }: ServiceRequest): Promise<Response> {
  const isForm = body instanceof FormData
  const json = body === undefined || isForm ? {} : { 'content-type': 'application/json' }
  return fetch(url + path, {
    method,
    headers: { ...headers, ...json, ...own },
    ...(body !== undefined && { body: isForm ? body : JSON.stringify(body) }),
    ...(signal && { signal }),
  })
}

function refusal({ status, headers }: Response, text: string, route: string): CepeError {
  const seconds = Number(headers.get('retry-after') ?? Number.NaN)
  const details = { status, retryAfterS: Number.isFinite(seconds) ? seconds : undefined }
  return (
    errorFrom(parsed(text), details) ??
    new CepeError('unexpected_response', `${route} answered ${status} without an error body: is it a cepe service?`, details)
  )
}
