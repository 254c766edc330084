import { CepeError, errorFrom, unreachable } from './errors.ts'
import { pause, waitBefore, type RetryPolicy } from './retry.ts'

/** A service and its request options. */
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
  readonly accept?: string
  readonly signal?: AbortSignal | undefined
}

/** Statuses of a busy service. */
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
    const waitMs = waitBefore({ attempt, sinceMs: performance.now() - started, retryAfterS }, service.retry)
    if (waitMs === undefined) throw error
    await pause(waitMs, signal)
    // A Retry-After is not a failure.
    if (retryAfterS !== undefined) attempt--
  }
}

/** @throws unexpected_response if the body is not JSON */
export async function readJson(response: Response): Promise<unknown> {
  const text = await response.text()
  const value = parsed(text)
  if (value !== undefined) return value
  throw new CepeError(
    'unexpected_response',
    `${response.url} does not answer as this version's API does (not JSON): is it a cepe service of the same version?`,
    { status: response.status },
  )
}

/** Parses a JSON text; undefined if it is invalid. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

function fetchOnce({ url, headers, fetch }: Service, { method, path, body, accept, signal }: ServiceRequest): Promise<Response> {
  const isForm = body instanceof FormData
  const json = body === undefined || isForm ? {} : { 'content-type': 'application/json' }
  return fetch(url + path, {
    method,
    headers: { ...headers, ...json, ...(accept !== undefined && { accept }) },
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
