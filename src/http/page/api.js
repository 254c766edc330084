import { eventsOf } from './events.js'
import { key, keyNeeded } from './gate.js'

/** What the service itself said of a request. */
export class ServiceError extends Error {
  constructor({ message, code, request_id: requestId }, { status, retryAfter } = {}) {
    super(message)
    Object.assign(this, { code, requestId, status, retryAfter })
  }
}

/** No connection: nothing was said at all. */
export class UnreachableError extends Error {
  constructor() {
    super('The service cannot be reached.')
  }
}

/** A text as a part of an address. @throws ServiceError for half of a surrogate pair, which UTF-8 cannot hold */
export function inAddress(text) {
  try {
    return encodeURIComponent(text)
  } catch {
    throw new ServiceError({ message: 'The text holds half of a surrogate pair: it was cut within a character. Cut it elsewhere.' })
  }
}

/** A path with the parameters that have a value. */
export function withQuery(path, parameters) {
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined)
  return given.length === 0 ? path : `${path}?${given.map(([name, value]) => `${name}=${inAddress(value)}`).join('&')}`
}

/** @throws ServiceError with the service's own message, of a status and a body */
export function errorOf(status, body, retryAfter) {
  return new ServiceError(body?.error ?? { message: `The service answered ${status}.` }, {
    status,
    retryAfter: Number(retryAfter) || undefined,
  })
}

async function bodyOf(response) {
  const body = await response.json().catch((error) => {
    if (error.name === 'AbortError') throw error
  })
  if (!response.ok) throw errorOf(response.status, body, response.headers.get('retry-after'))
  if (body === undefined) throw new ServiceError({ message: 'The answer did not arrive whole, or is not of this service. Try again.' })
  return body
}

/**
 * Sends a request with the key. One that needs a key waits for it, and is sent again with it.
 * @param {{json?: object, gate?: boolean}} options `gate: false` of requests whose view asks for the key itself
 * @throws UnreachableError
 */
async function send(url, { json, gate = true, ...options } = {}) {
  const body = json && { body: JSON.stringify(json), method: 'POST' }
  for (;;) {
    const sent = key()
    const headers = {
      ...(json && { 'content-type': 'application/json' }),
      ...(sent && { authorization: `Bearer ${sent}` }),
      ...options.headers,
    }
    const response = await fetch(url, { ...body, ...options, headers }).catch((error) => {
      throw error.name === 'AbortError' ? error : new UnreachableError()
    })
    if (response.status !== 401 || !gate) return response
    await keyNeeded(sent)
  }
}

/** Calls a route, relative to the page. @throws ServiceError, UnreachableError */
export async function call(url, options) {
  return bodyOf(await send(url, options))
}

/** A file of the service, or the text of a report. @throws ServiceError, UnreachableError */
export async function fetchFile(url) {
  const response = await send(url)
  if (!response.ok) await bodyOf(response)
  return response.blob()
}

/**
 * Asks the corpus. Where the stream breaks off (something on the way cuts streams), asks for the whole answer.
 * @param {{onEvidence: (data: object) => void, onText: (text: string) => void}} show called as passages and words come
 * @returns the answer with the `id` of its request
 * @throws ServiceError, UnreachableError
 */
export async function answerTo(question, signal, show) {
  const response = await send('v1/answer', { json: { ...question, stream: true }, signal })
  const isStream = /^text\/event-stream/.test(response.headers.get('content-type') ?? '')
  const answer = isStream ? await streamed(response, show) : await bodyOf(response)
  if (answer !== undefined) return { ...answer, id: response.headers.get('x-request-id') }
  const whole = await send('v1/answer', { json: question, signal })
  return { ...(await bodyOf(whole)), id: whole.headers.get('x-request-id') }
}

/** The answer at the end of a stream; undefined where the stream breaks off before. @throws ServiceError */
async function streamed(response, { onEvidence, onText }) {
  let said = ''
  try {
    for await (const { event, data } of eventsOf(response.body)) {
      if (event === 'evidence') onEvidence(data)
      else if (event === 'token') onText((said += data.text))
      else if (event === 'answer') return data
      else if (event === 'error') throw new ServiceError(data.error)
    }
  } catch (error) {
    if (error instanceof ServiceError || error.name === 'AbortError') throw error
  }
  return undefined
}
