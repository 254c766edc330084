import { CepeError, errorFrom, unreachable } from './errors.ts'
import { type RetryOptions, type Service, type ServiceRequest, parsed, readJson, retryPolicy, send } from './send.ts'
import { lines, serverEvents } from './stream.ts'
import type * as Api from './types.ts'

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

interface PassageOptions extends CallOptions {
  /** Where the passages are; the service's own collection where absent. */
  readonly collection?: string | undefined
}

interface BrowseOptions extends PassageOptions {
  readonly after?: string | undefined
  readonly limit?: number | undefined
}

/** One method per route. All of them throw {@link CepeError}, or the signal's reason once aborted. */
export type Client = ReturnType<typeof createClient>

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
export function createClient(options: ClientOptions) {
  const service = serviceOf(options)
  // Responses are not validated: the service is tested against the schemas of these types.
  const call = async <T>(request: ServiceRequest): Promise<T> => (await send(service, request, readJson)) as T
  const post = <T>(path: string, body: object, { signal }: CallOptions = {}) => call<T>({ method: 'POST', path, body, signal })
  const get = <T>(path: string, query: Query, { signal }: CallOptions = {}) =>
    call<T>({ method: 'GET', path: withQuery(path, query), signal })
  const passage = (id: string, query: Query): string => withQuery(`/v1/passages/${encodeURIComponent(id)}`, query)
  return {
    url: service.url,
    answer: (question: Api.Question, options?: CallOptions) => post<Api.AnswerResponse>('/v1/answer', question, options),
    /** Yields the passages, parts of the answer's text, and the complete answer. Leaving the loop cancels the answer. */
    streamAnswer: (question: Api.Question, options?: CallOptions) => streamed(service, question, options),
    /** Yields the result of each question in order, as they complete. A failed one does not affect the others: its item has an `error`. */
    answerMany: (questions: readonly Api.Question[], options?: CallOptions) => batch(service, questions, options),
    /** Answers from a document: its text, or a form with its `file` and the other fields. */
    answerDocument: (request: Api.AnswerDocumentRequest | FormData, options?: CallOptions) =>
      post<Api.AnswerDocumentResponse>('/v1/documents/answer', request, options),
    search: (request: Api.SearchRequest, options?: CallOptions) => post<Api.SearchResponse>('/v1/search', request, options),
    score: (request: Api.ScoreRequest, options?: CallOptions) => post<Api.ScoreResponse>('/v1/score', request, options),
    rerank: (request: Api.RerankRequest, options?: CallOptions) => post<Api.RerankResponse>('/v1/rerank', request, options),
    getPassage: (id: string, { signal, ...query }: PassageOptions = {}) => get<Api.StoredPassage>(passage(id, query), {}, { signal }),
    /** A page of the sources; `after` is the last page's `next`. */
    browseSources: ({ signal, ...query }: BrowseOptions = {}) => get<Api.BrowseSourcesResponse>('/v1/sources', query, { signal }),
    /** A page of a source's passages in reading order. */
    browsePassages: (source: string, { signal, ...query }: BrowseOptions = {}) =>
      get<Api.BrowsePassagesResponse>('/v1/passages', { ...query, source }, { signal }),
    /** Needs an admin key. */
    upsertPassages: (body: Api.UpsertPassagesRequest, { signal, ...query }: PassageOptions = {}) =>
      call<Api.UpsertPassagesResponse>({ method: 'PUT', path: withQuery('/v1/passages', query), body, signal, headers: once() }),
    /** Needs an admin key. */
    deletePassage: (id: string, { signal, ...query }: PassageOptions = {}) =>
      call<Api.DeletePassageResponse>({ method: 'DELETE', path: passage(id, query), signal, headers: once() }),
    /** Needs an admin key. */
    deletePassages: (body: Api.DeletePassagesRequest, { signal, ...query }: PassageOptions = {}) =>
      call<Api.DeletePassagesResponse>({ method: 'POST', path: withQuery('/v1/passages/delete', query), body, signal, headers: once() }),
    /** A page of the collections that the key may use; `after` is the last page's `next`. */
    listCollections: ({ signal, ...query }: CallOptions & { readonly after?: string | undefined } = {}) =>
      get<Api.ListCollectionsResponse>('/v1/collections', query, { signal }),
    /** Models, index and limits of the service. */
    getInfo: (options?: CallOptions) => get<Api.GetInfoResponse>('/v1/info', {}, options),
  }
}

/** A retry gets the response of an earlier attempt that was lost, instead of changing again. */
function once(): Readonly<Record<string, string>> {
  return { 'idempotency-key': Array.from(crypto.getRandomValues(new Uint32Array(4)), (part) => part.toString(16)).join('-') }
}

type Query = Readonly<Record<string, string | number | undefined>>

function withQuery(path: string, query: Query): string {
  const given = Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : `${name}=${encodeURIComponent(value)}`))
  return given.length === 0 ? path : `${path}?${given.join('&')}`
}

async function* streamed(service: Service, question: Api.Question, options: CallOptions = {}) {
  const request = { path: '/v1/answer', body: { ...question, stream: true }, headers: { accept: 'text/event-stream' }, ...options }
  for await (const { event, data } of received(service, request, serverEvents)) {
    const value = parsed(data)
    if (event === 'error') throw errorFrom(value) ?? cutShort(service)
    yield { event, data: value } as Api.AnswerEvent
    if (event === 'answer') return
  }
  throw cutShort(service)
}

async function* batch(service: Service, questions: readonly Api.Question[], options: CallOptions = {}) {
  const request = { path: '/v1/answers', body: { questions }, headers: { accept: 'application/x-ndjson' }, ...options }
  let done = 0
  for await (const line of received(service, request, lines)) {
    const item = parsed(line)
    if (item === undefined) break
    done++
    yield item as Api.BatchItem
  }
  if (done < questions.length) throw cutShort(service)
}

function bodyOf({ body, url, status }: Response): Promise<ReadableStream<Uint8Array>> {
  if (body !== null) return Promise.resolve(body)
  return Promise.reject(new CepeError('unexpected_response', `${url} answered without a body.`, { status }))
}

/** Parts of a streamed response. Assigns a code to errors of a connection that breaks during the body. */
async function* received<T>(
  service: Service,
  request: Omit<ServiceRequest, 'method'>,
  partsOf: (body: ReadableStream<Uint8Array>) => AsyncGenerator<T, void, undefined>,
): AsyncGenerator<T, void, undefined> {
  const parts = partsOf(await send(service, { method: 'POST', ...request }, bodyOf))
  try {
    yield* parts
  } catch (error) {
    throw request.signal?.aborted === true ? error : unreachable(service.url, error)
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
    throw invalid('url', `must be an http or https address such as http://127.0.0.1:8080, not ${JSON.stringify(url)}`)
  // Addresses are part of error messages.
  const { username, password } = new URL(url)
  if (username !== '' || password !== '')
    throw invalid('url', 'must not contain a user name or a password: use a key of the service instead')
  return url.replace(/\/+$/, '')
}

/** @throws options_invalid for a key that no header can hold; the runtime's own error would contain it */
function checkedKey(key: string): string {
  if (/^[\x21-\x7e]+$/.test(key)) return key
  throw invalid('key', 'is empty, or has characters that are not allowed in a key; it is not shown')
}

function invalid(field: keyof ClientOptions, problem: string): CepeError {
  return new CepeError('options_invalid', `${field} ${problem}.`, { field })
}
