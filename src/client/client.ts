import { CepeError, errorFrom, unreachable } from './errors.ts'
import { type RetryOptions, retryPolicy } from './retry.ts'
import { type Service, type ServiceRequest, parsed, readJson, send } from './send.ts'
import type {
  AnswerDocumentRequest,
  AnswerDocumentResponse,
  AnswerEvent,
  AnswerResponse,
  BatchItem,
  BrowsePassagesResponse,
  BrowseSourcesResponse,
  DeletePassageResponse,
  DeletePassagesRequest,
  DeletePassagesResponse,
  GetInfoResponse,
  ListCollectionsResponse,
  Question,
  RerankRequest,
  RerankResponse,
  ScoreRequest,
  ScoreResponse,
  SearchRequest,
  SearchResponse,
  StoredPassage,
  UpsertPassagesRequest,
  UpsertPassagesResponse,
} from './types.ts'

export interface ClientOptions {
  /** Address of the service, including its base path: `http://127.0.0.1:8080`. */
  readonly url: string
  /** API key, if the service requires one. Sent as a bearer token; never part of an error. */
  readonly key?: string | undefined
  readonly retry?: RetryOptions
  /** Replaces the runtime's fetch: for proxies, tests, measurements. */
  readonly fetch?: typeof fetch
}

export interface CallOptions {
  /** Cancels the call, and the service's work for it. */
  readonly signal?: AbortSignal | undefined
}

export interface PassageOptions extends CallOptions {
  /** Where the passages are; the service's own collection where absent. */
  readonly collection?: string | undefined
}

export interface BrowseOptions extends PassageOptions {
  readonly after?: string | undefined
  readonly limit?: number | undefined
}

/** One method per route. All of them throw {@link CepeError}, or the signal's reason once aborted. */
export interface Client {
  /** Address of the service. */
  readonly url: string
  answer(question: Question, options?: CallOptions): Promise<AnswerResponse>
  /** Yields the passages, parts of the answer's text, and the complete answer. Leaving the loop cancels the answer. */
  streamAnswer(question: Question, options?: CallOptions): AsyncGenerator<AnswerEvent, void, undefined>
  /**
   * Yields the result of each question in order, as they complete. A failed question does not affect the others: its item has an `error`.
   */
  answerMany(questions: readonly Question[], options?: CallOptions): AsyncGenerator<BatchItem, void, undefined>
  /** Answers from a document: its text, or a form with its `file` and the other fields. */
  answerDocument(request: AnswerDocumentRequest | FormData, options?: CallOptions): Promise<AnswerDocumentResponse>
  search(request: SearchRequest, options?: CallOptions): Promise<SearchResponse>
  score(request: ScoreRequest, options?: CallOptions): Promise<ScoreResponse>
  rerank(request: RerankRequest, options?: CallOptions): Promise<RerankResponse>
  getPassage(id: string, options?: PassageOptions): Promise<StoredPassage>
  /** A page of the sources; `after` is the last page's `next`. */
  browseSources(options?: BrowseOptions): Promise<BrowseSourcesResponse>
  /** A page of a source's passages in reading order. */
  browsePassages(source: string, options?: BrowseOptions): Promise<BrowsePassagesResponse>
  /** Needs an admin key. */
  upsertPassages(request: UpsertPassagesRequest, options?: PassageOptions): Promise<UpsertPassagesResponse>
  /** Needs an admin key. */
  deletePassage(id: string, options?: PassageOptions): Promise<DeletePassageResponse>
  /** Needs an admin key. */
  deletePassages(request: DeletePassagesRequest, options?: PassageOptions): Promise<DeletePassagesResponse>
  /** A page of the collections that the key may use; `after` is the last page's `next`. */
  listCollections(options?: CallOptions & { readonly after?: string | undefined }): Promise<ListCollectionsResponse>
  /** Models, index and limits of the service. */
  getInfo(options?: CallOptions): Promise<GetInfoResponse>
}

/**
 * @throws CepeError options_invalid for an invalid address or key
 * @example
 * ```ts
 * import { createClient } from './src/client/index.ts'
 *
 * const client = createClient({ url: 'http://127.0.0.1:8080' })
 * const { answer, evidence } = await client.answer({ question: 'who composed aida' })
 * ```
 */
export function createClient(options: ClientOptions): Client {
  const service = serviceOf(options)
  // Responses are not validated: the service is tested against the schemas of these types.
  const call = async <T>(request: ServiceRequest): Promise<T> => (await send(service, request, readJson)) as T
  const post = <T>(path: string, body: object, { signal }: CallOptions = {}) => call<T>({ method: 'POST', path, body, signal })
  const query = (name: string, value: string | undefined): string => (value === undefined ? '' : `?${name}=${encodeURIComponent(value)}`)
  const passage = (id: string, collection?: string): string => `/v1/passages/${encodeURIComponent(id)}${query('collection', collection)}`
  const browse = <T>(path: string, { signal, ...given }: BrowseOptions & { source?: string }): Promise<T> => {
    const query = Object.entries(given).flatMap(([name, value]) => (value === undefined ? [] : `${name}=${encodeURIComponent(value)}`))
    return call({ method: 'GET', path: `${path}?${query.join('&')}`, signal })
  }
  return {
    url: service.url,
    answer: (question, options) => post('/v1/answer', question, options),
    streamAnswer: (question, options) => streamed(service, question, options),
    answerMany: (questions, options) => batch(service, questions, options),
    answerDocument: (request, options) => post('/v1/documents/answer', request, options),
    search: (request, options) => post('/v1/search', request, options),
    score: (request, options) => post('/v1/score', request, options),
    rerank: (request, options) => post('/v1/rerank', request, options),
    getPassage: (id, { signal, collection } = {}) => call({ method: 'GET', path: passage(id, collection), signal }),
    browseSources: (options = {}) => browse('/v1/sources', options),
    browsePassages: (source, options = {}) => browse('/v1/passages', { ...options, source }),
    upsertPassages: (body, { signal, collection } = {}) =>
      call({ method: 'PUT', path: `/v1/passages${query('collection', collection)}`, body, signal }),
    deletePassage: (id, { signal, collection } = {}) => call({ method: 'DELETE', path: passage(id, collection), signal }),
    deletePassages: (request, options) => post(`/v1/passages/delete${query('collection', options?.collection)}`, request, options),
    listCollections: ({ signal, after } = {}) => call({ method: 'GET', path: `/v1/collections${query('after', after)}`, signal }),
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

/** Assigns a code to errors of a connection that breaks during a body. */
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
  return new CepeError('service_unreachable', `The service at ${url} closed the connection before the response was complete.`)
}

function serviceOf({ url, key, retry, fetch: ownFetch = fetch }: ClientOptions): Service {
  return {
    url: addressOf(url),
    headers: key === undefined ? {} : { authorization: `Bearer ${checkedKey(key)}` },
    // A browser's fetch must be called without a receiver.
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
  // Addresses are part of error messages.
  const { username, password } = new URL(url)
  if (username !== '' || password !== '')
    throw new CepeError('options_invalid', 'url must not contain a user name or a password: use a key of the service instead.', {
      field: 'url',
    })
  return url.replace(/\/+$/, '')
}

/** @throws options_invalid for a key that no header can hold; the runtime's own error would contain it */
function checkedKey(key: string): string {
  if (/^[\x21-\x7e]+$/.test(key)) return key
  throw new CepeError('options_invalid', 'key is empty, or has characters that are not allowed in a key; it is not shown.', {
    field: 'key',
  })
}

/** Parsers of streamed response bodies. */

export interface ServerEvent {
  /** `message` if the event has no name. */
  readonly event: string
  readonly data: string
}

/** Parses server-sent events (HTML standard, section 9.2) as they arrive. Ending the iteration closes the connection. */
export async function* serverEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerEvent, void, undefined> {
  let event = ''
  let data: string[] = []
  for await (const line of lines(body)) {
    if (line === '') {
      if (data.length > 0) yield { event: event === '' ? 'message' : event, data: data.join('\n') }
      event = ''
      data = []
      continue
    }
    const colon = line.indexOf(':')
    const [name, value] = colon < 0 ? [line, ''] : [line.slice(0, colon), line.slice(colon + 1).replace(/^ /, '')]
    if (name === 'event') event = value
    else if (name === 'data') data.push(value)
    // Other fields and comments are ignored.
  }
}

/** Lines of a UTF-8 body as they arrive, without line ends; the last one may lack its end. */
async function* lines(body: ReadableStream<Uint8Array>): AsyncGenerator<string, void, undefined> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let rest = ''
  try {
    for (;;) {
      const { done, value } = await reader.read()
      const text = done ? decoder.decode() : decoder.decode(value, { stream: true })
      const [first = '', ...others] = text.split('\n')
      rest += first
      for (const next of others) {
        yield rest.replace(/\r$/, '')
        rest = next
      }
      if (done) break
    }
    if (rest !== '') yield rest
  } finally {
    // An earlier break of the connection needs no report here.
    await reader.cancel().catch(() => undefined)
  }
}
