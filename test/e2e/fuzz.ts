import fc from 'fast-check'
import { valueOf, type Schema } from './arbitrary.ts'
import { send, type Call, type Sent } from './send.ts'

const CLIENTS = 4
const METHODS = ['get', 'post', 'put', 'delete'] as const
/** Faults of the service; unsupported requests have other statuses. */
const FAULT = 500

interface Operation {
  readonly method: string
  readonly path: string
  readonly parameters: readonly { readonly name: string; readonly in: string; readonly schema: Schema }[]
  readonly body: Schema | undefined
  readonly types: readonly string[]
  readonly statuses: ReadonlySet<number>
}

interface Document {
  readonly paths: Readonly<
    Record<
      string,
      Readonly<
        Record<
          string,
          {
            readonly parameters?: Operation['parameters']
            readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema?: Schema }>> }
            readonly responses: Readonly<Record<string, unknown>>
          }
        >
      >
    >
  >
}

export interface Findings {
  readonly cases: number
  readonly statuses: ReadonlyMap<number, number>
  /** Operation and status, with the first such request. */
  readonly undocumented: ReadonlyMap<string, string>
  readonly faults: ReadonlyMap<string, string>
  /** Requests without an answer, and those with a broken connection. */
  readonly hung: readonly string[]
  readonly broken: readonly string[]
}

type Named = Readonly<Record<string, unknown>>

/** Maximum depth of recursive schemas. */
const MOST_REFERENCES = 6

/** Inlines references to named schemas. */
function inlined(value: unknown, schemas: Named, references = 0): unknown {
  if (Array.isArray(value)) return value.map((entry) => inlined(entry, schemas, references))
  if (typeof value !== 'object' || value === null) return value
  const name = '$ref' in value && typeof value.$ref === 'string' ? value.$ref.split('/').at(-1) : undefined
  if (name !== undefined) return references < MOST_REFERENCES ? inlined(schemas[name], schemas, references + 1) : {}
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, inlined(entry, schemas, references)]))
}

function operationsOf({ paths }: Document): Operation[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    METHODS.flatMap((method) => {
      const operation = methods[method]
      if (operation === undefined) return []
      const content = operation.requestBody?.content ?? {}
      return {
        method: method.toUpperCase(),
        path,
        parameters: operation.parameters ?? [],
        body: content['application/json']?.schema ?? Object.values(content).find(({ schema }) => schema)?.schema,
        types: Object.keys(content),
        statuses: new Set(Object.keys(operation.responses).map(Number)),
      }
    }),
  )
}

/** Requests for an operation: path, query and body from its schemas, with and without a key. */
function callsOf({ method, path, parameters, body, types }: Operation, key: string, tidy: boolean): fc.Arbitrary<Call> {
  const parametersIn = (where: string) =>
    fc.tuple(
      ...parameters
        .filter((parameter) => parameter.in === where)
        .map(({ name, schema }) =>
          valueOf(schema, tidy).map((value): [string, string] => [name, typeof value === 'string' ? value : (JSON.stringify(value) ?? '')]),
        ),
    )
  const headers = fc.record({
    authorization: fc.oneof(
      { weight: 200, arbitrary: fc.constant(`Bearer ${key}`) },
      // Thirty wrong keys a minute are allowed, then all are rejected.
      { weight: tidy ? 0 : 1, arbitrary: fc.constantFrom('Bearer wrong', 'Basic x') },
    ),
    ...(body !== undefined && {
      'content-type': fc.constantFrom(...types, 'application/json', 'application/json', 'application/json', 'text/xml'),
    }),
  })
  return fc
    .record({
      inPath: parametersIn('path'),
      query: parametersIn('query'),
      headers,
      body: body === undefined ? fc.constant(undefined) : valueOf(body, tidy),
    })
    .map(({ inPath, query, headers, body: value }) => {
      const filled = inPath.reduce((text, [name, own]) => text.replace(`{${name}}`, escaped(own) || 'x'), path)
      const search = query.filter(([, own]) => own !== 'null').map(([name, own]) => `${name}=${escaped(own)}`)
      return {
        method,
        path: filled + (search.length > 0 ? `?${search.join('&')}` : ''),
        headers,
        ...(value !== undefined && { body: JSON.stringify(value) ?? '' }),
      }
    })
}

/** Unpaired surrogates have no encoding, and dot segments of a path are resolved before sending. */
function escaped(text: string): string {
  return /^\.{1,2}$/.test(text) ? 'x' : encodeURIComponent(Buffer.from(text).toString())
}

export interface FuzzOptions {
  readonly url: string
  /** An admin key. */
  readonly key: string
  readonly cases: number
  readonly seed: number
}

/** Sends generated requests and compares responses with the service's OpenAPI document. */
export async function fuzz({ url, key, cases, seed }: FuzzOptions): Promise<Findings> {
  const text = String((await send(url, { method: 'GET', path: '/docs/json' })).body)
  const { components, ...named } = JSON.parse(text) as Document & { readonly components?: { readonly schemas?: Named } }
  const document = inlined(named, components?.schemas ?? {}) as Document
  const operations = operationsOf(document)
  const each = Math.ceil(cases / operations.length / 2)
  const queue = operations.flatMap((operation) =>
    [true, false].flatMap((tidy) => fc.sample(callsOf(operation, key, tidy), { numRuns: each, seed }).map((call) => ({ operation, call }))),
  )
  // Shuffled, so that slow and fast operations mix.
  const shuffled = fc.sample(fc.shuffledSubarray(queue, { minLength: queue.length }), { numRuns: 1, seed })[0] ?? queue
  const found = {
    statuses: new Map<number, number>(),
    undocumented: new Map<string, string>(),
    faults: new Map<string, string>(),
    hung: [] as string[],
    broken: [] as string[],
  }
  const judge = ({ operation, call }: (typeof queue)[number], { status, body }: Sent): void => {
    const name = `${operation.method} ${operation.path} ${status}`
    const example = `${call.method} ${call.path} ${String(call.body).slice(0, 300)} -> ${String(body).slice(0, 200)}`
    found.statuses.set(status, (found.statuses.get(status) ?? 0) + 1)
    if (status === -1) found.hung.push(example)
    else if (status === 0) found.broken.push(example)
    else if (!operation.statuses.has(status)) found.undocumented.set(name, example)
    if (status === FAULT) found.faults.set(name, example)
  }
  const client = async (): Promise<void> => {
    for (let next = shuffled.pop(); next !== undefined; next = shuffled.pop()) {
      judge(next, await send(url, next.call))
    }
  }
  const total = shuffled.length
  await Promise.all(Array.from({ length: CLIENTS }, client))
  return { cases: total, ...found }
}
