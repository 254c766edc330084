import { CepeError, errorFrom, unreachable } from './errors.ts'
import { lines, serverEvents } from './event-stream.ts'
import { retryPolicy, type RetryOptions } from './retry.ts'
import { parsed, readJson, send, type Service, type ServiceRequest } from './send.ts'
import type {
  AnswerDocumentRequest,
  AnswerDocumentResponse,
  AnswerEvent,
  AnswerResponse,
  BatchItem,
  DeletePassageResponse,
  DeletePassagesRequest,
  DeletePassagesResponse,
  GetInfoResponse,
  Passage,
  Question,
  RerankRequest,
  RerankResponse,
  ScoreRequest,
  ScoreResponse,
  SearchRequest,
  SearchResponse,
  UpsertPassagesRequest,
  UpsertPassagesResponse,
} from './types.ts'

export interface ClientOptions {
  /** Address of the service, with the path that it is served under: `http://127.0.0.1:8080`. */
  readonly url: string
  /** A key of the service, where it wants one. It is sent as a bearer token, and stands in no error. */
  readonly key?: string | undefined
  readonly retry?: RetryOptions
  /** In place of the runtime's own: for proxies, tests, measurements. */
  readonly fetch?: typeof fetch
}

export interface CallOptions {
  /** Ends the call, and the work of the service for it. */
  readonly signal?: AbortSignal | undefined
}

/** One method a route. All of them throw {@link CepeError}, and the signal's reason where it is aborted. */
export interface Client {
  /** The service's address. */
  readonly url: string
  answer(question: Question, options?: CallOptions): Promise<AnswerResponse>
  /** The passages, the answer's text as it comes about, the whole answer. Who leaves the loop ends the answer. */
  streamAnswer(question: Question, options?: CallOptions): AsyncGenerator<AnswerEvent, void, undefined>
  /** What became of each question, in their order, as it comes about. One that fails fails alone: its item has an `error`. */
  answerMany(questions: readonly Question[], options?: CallOptions): AsyncGenerator<BatchItem, void, undefined>
  /** From a document: its text, or a form with its `file` and the other fields beside it. */
  answerDocument(request: AnswerDocumentRequest | FormData, options?: CallOptions): Promise<AnswerDocumentResponse>
  search(request: SearchRequest, options?: CallOptions): Promise<SearchResponse>
  score(request: ScoreRequest, options?: CallOptions): Promise<ScoreResponse>
  rerank(request: RerankRequest, options?: CallOptions): Promise<RerankResponse>
  getPassage(id: string, options?: CallOptions): Promise<Passage>
  /** With an admin key. */
  upsertPassages(request: UpsertPassagesRequest, options?: CallOptions): Promise<UpsertPassagesResponse>
  /** With an admin key. */
  deletePassage(id: string, options?: CallOptions): Promise<DeletePassageResponse>
  /** With an admin key. */
  deletePassages(request: DeletePassagesRequest, options?: CallOptions): Promise<DeletePassagesResponse>
  /** Models, index and limits of the service. */
  getInfo(options?: CallOptions): Promise<GetInfoResponse>
}

/** @throws CepeError options_invalid for an address or a key that is none */
export function createClient(options: ClientOptions): Client {
  const service = serviceOf(options)
  // Responses are not checked: that is the service's, which is tested against the schemas that these types are made from.
  const call = async <T>(request: ServiceRequest): Promise<T> => (await send(service, request, readJson)) as T
  const post = <T>(path: string, body: object, { signal }: CallOptions = {}) => call<T>({ method: 'POST', path, body, signal })
  const passage = (id: string): string => `/v1/passages/${encodeURIComponent(id)}`
  return {
    url: service.url,
    answer: (question, options) => post('/v1/answer', question, options),
    streamAnswer: (question, options) => streamed(service, question, options),
    answerMany: (questions, options) => batch(service, questions, options),
    answerDocument: (request, options) => post('/v1/documents/answer', request, options),
    search: (request, options) => post('/v1/search', request, options),
    score: (request, options) => post('/v1/score', request, options),
    rerank: (request, options) => post('/v1/rerank', request, options),
    getPassage: (id, { signal } = {}) => call({ method: 'GET', path: passage(id), signal }),
    upsertPassages: (body, { signal } = {}) => call({ method: 'PUT', path: '/v1/passages', body, signal }),
    deletePassage: (id, { signal } = {}) => call({ method: 'DELETE', path: passage(id), signal }),
    deletePassages: (request, options) => post('/v1/passages/delete', request, options),
    getInfo: ({ signal } = {}) => call({ method: 'GET', path: '/v1/info', signal }),
  }
}

async function* streamed(service: Service, question: Question, options: CallOptions = {}): AsyncGenerator<AnswerEvent, void, undefined> {
  const request = { method: 'POST', path: '/v1/answer', body: { ...question, stream: true }, ...options } as const
  const events = serverEvents(await send(service, { ...request, accept: 'text/event-stream' }, bodyOf))
  for await (const { event, data } of whileConnected(service, events, options)) {
    const value = parsed(data)
    if (event === 'error') throw errorFrom(value) ?? cutShort(service)
    yield { event, data: value } as AnswerEvent
    if (event === 'answer') return
  }
  throw cutShort(service)
}

async function* batch(
  service: Service,
  questions: readonly Question[],
  options: CallOptions = {},
): AsyncGenerator<BatchItem, void, undefined> {
  const request = { method: 'POST', path: '/v1/answers', body: { questions }, ...options } as const
  const items = lines(await send(service, { ...request, accept: 'application/x-ndjson' }, bodyOf))
  let done = 0
  for await (const line of whileConnected(service, items, options)) {
    const item = parsed(line)
    if (item === undefined) break
    done++
    yield item as BatchItem
  }
  if (done < questions.length) throw cutShort(service)
}

function bodyOf({ body, url, status }: Response): Promise<ReadableStream<Uint8Array>> {
  if (body !== null) return Promise.resolve(body)
  return Promise.reject(new CepeError('unexpected_response', `${url} answered without a body.`, { status }))
}

/** Errors of a connection that breaks in the midst of a body get a code. */
async function* whileConnected<T>(
  { url }: Service,
  parts: AsyncGenerator<T, void, undefined>,
  { signal }: CallOptions,
): AsyncGenerator<T, void, undefined> {
  try {
    yield* parts
  } catch (error) {
    throw signal?.aborted === true ? error : unreachable(url, error)
  }
}

function cutShort({ url }: Service): CepeError {
  return new CepeError('service_unreachable', `The service at ${url} ended its answer before it was whole.`)
}

function serviceOf({ url, key, retry, fetch: ownFetch = fetch }: ClientOptions): Service {
  return {
    url: addressOf(url),
    headers: key === undefined ? {} : { authorization: `Bearer ${checkedKey(key)}` },
    // A browser's fetch is called as a function of its own.
    fetch: (...args) => ownFetch(...args),
    retry: retryPolicy(retry),
  }
}

function addressOf(url: string): string {
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    throw new CepeError(
      'options_invalid',
      `url must be an http or https address such as http://127.0.0.1:8080, not ${JSON.stringify(url)}.`,
      { field: 'url' },
    )
  // Addresses are shown in errors.
  const { username, password } = new URL(url)
  if (username !== '' || password !== '')
    throw new CepeError('options_invalid', 'url must not hold a name or a password: give a key of the service in its place.', {
      field: 'url',
    })
  return url.replace(/\/+$/, '')
}

/** @throws options_invalid for what no header can hold; the runtime's own error would show it */
function checkedKey(key: string): string {
  if (/^[\x21-\x7e]+$/.test(key)) return key
  throw new CepeError('options_invalid', 'key is empty, or holds spaces or letters that no key has; it is not shown.', { field: 'key' })
}
