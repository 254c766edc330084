import t from 'tap'
import { nameSchemas } from '../../../src/http/plugins/named-schemas.ts'
import { testApp } from '../helpers.ts'

interface Operation {
  readonly operationId?: string
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
    for (const [method, { operationId, requestBody, responses }] of Object.entries(methods)) {
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
  const { schemas } = document.components
  t.ok(schemas['AnswerResponse']?.properties?.['answer'], 'the answer is a field of a named type')
  t.match(schemas, { AnswerRequest: {}, SearchResponse: {}, Evidence: {}, Filter: {}, ErrorBody: {}, OpenAiError: {}, Passage: {} })
  for (const [, name = ''] of JSON.stringify(document).matchAll(/"#\/components\/schemas\/(\w+)"/g)) t.hasProp(schemas, name)
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
