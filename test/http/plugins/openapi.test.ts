import t from 'tap'
import { nameSchemas } from '../../../src/http/plugins/named-schemas.ts'
import { testApp } from '../helpers.ts'

interface Operation {
  readonly operationId?: string
  readonly parameters?: readonly { readonly name: string }[]
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: object }>> }
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, { readonly schema: object }>> }>>
}
interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, { readonly properties?: Readonly<Record<string, object>> }>> }
}

t.test('every operation has a name of its own, and every JSON body', async (t) => {
  const { app } = await testApp(t)
  const document = (await app.inject('/docs/json')).json<OpenApi>()
  const names: string[] = []
  for (const [path, methods] of Object.entries(document.paths))
    for (const [method, { operationId, parameters = [], requestBody, responses }] of Object.entries(methods)) {
      if (parameters.some(({ name }) => name === 'idempotency-key'))
        t.match(responses, { 409: {}, 422: {} }, `${method} ${path}: answers of a key in use, and of one used before`)
      t.match(operationId, /^[a-z][A-Za-z]+$/, `${method} ${path}`)
      names.push(operationId ?? '')
      const bodies = [requestBody, ...Object.values(responses)].flatMap((body) => body?.content?.['application/json'] ?? [])
      for (const { schema } of bodies) t.match(schema, { $ref: /^#\/components\/schemas\// }, `${method} ${path}`)
    }
  t.ok(names.length > 30)
  t.same(
    names.filter((name, i) => names.indexOf(name) !== i),
    [],
    'no name twice',
  )
  t.match(document.paths['/v1/answers']?.['post']?.requestBody?.content, {
    'application/json': { schema: { $ref: '#/components/schemas/AnswerManyRequest' } },
    'application/x-ndjson': { schema: { type: 'string', description: /One question per line/ } },
  })
  for (const [path, forms] of [
    ['/v1/rerank', ['documents']],
    ['/v2/rerank', ['documents']],
    ['/rerank', ['texts', 'documents']],
  ] as const) {
    const body = document.paths[path]?.['post']?.requestBody?.content['application/json']?.schema
    const [, name = ''] = /([^/]+)"}$/.exec(JSON.stringify(body)) ?? []
    const { [name]: schema = {} } = document.components.schemas
    const alternatives = 'anyOf' in schema && Array.isArray(schema.anyOf) ? (schema.anyOf as unknown[]) : [schema]
    t.match(
      alternatives,
      forms.map((name) => ({ properties: { [name]: {} } })),
      path,
    )
    t.equal(alternatives.length, forms.length, path)
  }
  const { schemas } = document.components
  t.ok(schemas['AnswerResponse']?.properties?.['answer'], 'the answer is a field of a named type')
  t.match(schemas, { AnswerRequest: {}, SearchResponse: {}, Evidence: {}, Filter: {}, ErrorBody: {}, OpenAiError: {}, Passage: {} })
  for (const [, name = ''] of JSON.stringify(document).matchAll(/"#\/components\/schemas\/(\w+)"/g)) t.hasProp(schemas, name)
})

t.test('what a body of another type is answered with is listed, where no body is needed too', async (t) => {
  const { app } = await testApp(t)
  const document = (await app.inject('/docs/json')).json<OpenApi>()
  const methods = ['post', 'put', 'delete'] as const
  let asked = 0
  for (const [path, operations] of Object.entries(document.paths))
    for (const method of methods) {
      const { [method]: operation } = operations
      if (operation === undefined) continue
      const url = path.replace(/\{\w+\}/g, 'x')
      const { statusCode } = await app.inject({ method, url, headers: { 'content-type': 'application/xml' }, payload: '<a/>' })
      t.hasProp(operation.responses, String(statusCode), `${method} ${path}`)
      asked += Number(statusCode === 415)
    }
  t.ok(asked > 10, `${asked} refused the type`)
})

t.test('code can be generated: no two values of an enum differ in case alone, and a success has one type', async (t) => {
  const { app } = await testApp(t)
  const { body } = await app.inject('/docs/json')
  let enums = 0
  JSON.parse(body, (key, value: unknown) => {
    if (key !== 'enum' || !Array.isArray(value)) return value
    enums++
    const names = value.map((one) => String(one).toLowerCase())
    t.equal(new Set(names).size, names.length, names.join())
    return value as unknown
  })
  t.ok(enums > 10)
  const lines = ['application/x-ndjson']
  const others: Readonly<Record<string, readonly string[]>> = {
    streamAnswer: ['text/event-stream'],
    exportPassages: lines,
    getIndexJobReport: lines,
    getPassageFile: ['application/octet-stream', 'application/pdf', 'text/plain'],
  }
  const seen: string[] = []
  for (const methods of Object.values((JSON.parse(body) as OpenApi).paths))
    for (const { operationId = '', responses } of Object.values(methods)) {
      const content = responses['200']?.content ?? {}
      const types = Object.keys(content)
      if (types.length > 0) t.same(types, others[operationId] ?? ['application/json'], operationId)
      t.ok(new Set(Object.values(content).map(({ schema }) => JSON.stringify(schema))).size <= 1, operationId)
      if (operationId in others) seen.push(operationId)
    }
  t.same(seen.sort(), Object.keys(others).sort())
})

t.test('a schema is moved once, what it is called is checked, and descriptions of places stay', (t) => {
  const point = (description?: string) => ({ title: 'Point', type: 'object', ...(description && { description }) })
  const get = (schema: object) => ({ get: { operationId: 'getIt', responses: { 200: { content: { 'application/json': { schema } } } } } })
  const document = { paths: { '/a': get({ type: 'object', properties: { from: point('A point.'), to: point('The end.') } }) } }
  nameSchemas(document)
  t.same(document, {
    paths: { '/a': get({ $ref: '#/components/schemas/GetItResponse' }) },
    components: {
      schemas: {
        GetItResponse: {
          type: 'object',
          properties: {
            from: { $ref: '#/components/schemas/Point' },
            to: { $ref: '#/components/schemas/Point', description: 'The end.' },
          },
        },
        Point: { type: 'object', description: 'A point.' },
      },
    },
  })
  const twice = { paths: { '/a': get({ anyOf: [point(), { ...point(), type: 'array' }] }) } }
  t.throws(() => nameSchemas(twice), /two schemas are called Point/)
  t.end()
})
