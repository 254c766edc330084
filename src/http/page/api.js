import { byId } from './dom.js'
import { eventsOf } from './events.js'

/** What the service itself said of a request. */
export class ServiceError extends Error {
  constructor(message, status) {
    super(message)
    this.status = status
  }
}

/** The options of a request, with the key that was given. */
function withKey(options) {
  const key = byId('key').value
  return { ...options, headers: { ...options.headers, ...(key && { authorization: `Bearer ${key}` }) } }
}

/** The body of a response. @throws ServiceError with the service's own message */
async function bodyOf(response) {
  const body = await response.json().catch(() => ({}))
  if (!response.ok) throw new ServiceError(body.error?.message ?? `The service answered ${response.status}.`, response.status)
  return body
}

/** Calls a route, relative to the page. @throws ServiceError */
export async function call(url, options = {}) {
  return bodyOf(await fetch(url, withKey(options)))
}

/** The file at an address of the service. @throws ServiceError */
export async function fetchFile(url) {
  const response = await fetch(url, withKey({}))
  if (!response.ok) await bodyOf(response)
  return response.blob()
}

/**
 * Asks the corpus. Where the stream breaks off (something on the way cuts streams), asks for the whole answer.
 * @param {{onEvidence: (evidence: object[]) => void, onText: (text: string) => void}} show called as passages and words come
 * @throws ServiceError
 */
export async function answerTo(body, signal, show) {
  const post = (question) =>
    fetch('v1/answer', withKey({ method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(question), signal }))
  const response = await post({ ...body, stream: true })
  if (!/^text\/event-stream/.test(response.headers.get('content-type') ?? '')) return bodyOf(response)
  return (await streamed(response, show)) ?? bodyOf(await post(body))
}

/** The answer at the end of a stream; undefined where the stream breaks off before. @throws ServiceError */
async function streamed(response, { onEvidence, onText }) {
  let said = ''
  try {
    for await (const { event, data } of eventsOf(response.body)) {
      if (event === 'evidence') onEvidence(data.evidence)
      else if (event === 'token') onText((said += data.text))
      else if (event === 'answer') return data
      else if (event === 'error') throw new ServiceError(data.error.message)
    }
  } catch (error) {
    if (error instanceof ServiceError || error.name === 'AbortError') throw error
  }
  return undefined
}
