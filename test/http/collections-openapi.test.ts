import { Readable } from 'node:stream'
import t from 'tap'
import { withCollections } from './collections-helpers.ts'

/** Operations that name no collection, and what keeps the passages of others out of them. */
const WITHOUT: Readonly<Record<string, string>> = {
  getHealth: 'of the process',
  getReadiness: 'of the service and its own collection, without a key',
  listKeys: 'refused to keys that are bound to collections',
  answerDocument: 'brings its document',
  rerank: 'brings its documents',
  rerankDocuments: 'brings its documents',
  rankTexts: 'brings its texts',
  createEmbeddings: 'brings its texts',
  listModels: 'models',
  getModel: 'models',
  callTool: 'named in the arguments of tools, which have a test of their own',
  listCollections: "lists the key's own",
  listIndexJobs: "lists those of the key's own",
  getIndexJob: "of its job's collection",
  cancelIndexJob: "of its job's collection",
  resumeIndexJob: "of its job's collection",
  getIndexJobReport: "of its job's collection",
}

/** Requests of the operations that name one, without naming it; a function where it is named otherwise than by the field or parameter `collection`. */
const REQUESTS: Readonly<Record<string, object | string | undefined>> = {
  answer: { question: 'what is said' },
  streamAnswer: { question: 'what is said' },
  search: { query: 'text' },
  score: { question: 'what is said', choices: ['yes'] },
  sendFeedback: { question: 'what is said', correct: true, answer: 'yes' },
  createChatCompletion: { model: 'cepe', messages: [{ role: 'user', content: 'what is said' }] },
  createResponse: { model: 'cepe', input: 'what is said' },
  upsertPassages: { passages: [{ id: 'new', title: '', text: 'new' }] },
  postUpsertPassages: { passages: [{ id: 'new', title: '', text: 'new' }] },
  deletePassages: { ids: ['none'] },
  createSnapshot: { name: 'monday' },
  createIndexJob: 'id,title,text\nj1,,a text of a job\n',
}

interface Schema {
  readonly $ref?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
}
interface Operation {
  readonly operationId: string
  readonly parameters?: readonly { readonly name: string; readonly in: string }[]
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> }
}
type Way = 'query' | 'path' | 'body' | 'cepe' | 'questions'
interface Asked {
  readonly id: string
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  readonly url: string
  readonly way: Way | undefined
}

const NAME = '{collection}'

function operationsOf(document: {
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, Schema> }
}): Asked[] {
  const whole = (schema: Schema | undefined): Schema =>
    schema?.$ref ? (document.components.schemas[schema.$ref.split('/').at(-1) ?? ''] ?? {}) : (schema ?? {})
  const wayOf = (path: string, { parameters = [], requestBody }: Operation): Way | undefined => {
    if (parameters.some((one) => one.in === 'query' && one.name === 'collection')) return 'query'
    if (path.startsWith('/v1/collections/')) return 'path'
    const { properties = {} } = whole(requestBody?.content['application/json']?.schema)
    if (properties['collection']) return 'body'
    if (whole(properties['cepe']).properties?.['collection']) return 'cepe'
    return whole(whole(properties['questions']).items).properties?.['collection'] ? 'questions' : undefined
  }
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => {
      const way = wayOf(path, operation)
      const url = path.replace('{name}', NAME).replace('{id}', 'p1')
      return {
        id: operation.operationId,
        method: method.toUpperCase() as Asked['method'],
        url: url + (way === 'query' ? `?collection=${NAME}` : ''),
        way,
      }
    }),
  )
}

/** The body that names a collection. */
function bodyOf({ id, way }: Asked, collection: string): object | string | undefined {
  const body = REQUESTS[id]
  if (way === 'body') return { ...Object(body), collection } as object
  if (way === 'cepe') return { ...Object(body), cepe: { collection } } as object
  return way === 'questions' ? { questions: [{ question: 'what is said', collection }] } : body
}

t.test('every operation that names a collection answers for one that the key may not use as for one that is not there', async (t) => {
  const { app, services, send } = await withCollections(
    t,
    {},
    { FEEDBACK: `${t.testdir()}/feedback.jsonl`, SERVE_FILES: true, IMPORT_DIR: t.testdir() },
  )
  const operations = operationsOf((await app.inject('/docs/json')).json())
  const named = operations.filter(({ way }) => way !== undefined)
  t.same(
    operations
      .filter(({ way }) => way === undefined)
      .map(({ id }) => id)
      .sort(),
    Object.keys(WITHOUT).sort(),
    'a new route names a collection (schema CollectionNameSchema), or stands in the list with what keeps the passages of others out of it',
  )
  t.ok(named.length > 15, `${named.length} operations`)
  const ask = async (one: Asked, collection: string) => {
    const { statusCode, body } = await send(one.method, one.url.replace(NAME, collection), 'liz', bodyOf(one, collection))
    return { statusCode, body: body.replaceAll(collection, '*').replaceAll(/"(request_id|id)":"[^"]*"/g, '') }
  }
  for (const one of named) {
    const [foreign, unknown] = [await ask(one, 'med'), await ask(one, 'nil')]
    t.same(foreign, unknown, one.id)
    t.match(foreign.body, /"unknown_collection"/, one.id)
    t.equal(foreign.statusCode, one.way === 'questions' ? 200 : 404, one.id)
  }
  t.equal(await (await services.collections.open('med')).count(), 1, 'nothing was changed there')
  t.same(await services.jobs.list(), [])
  for (const one of named.filter(({ method, way }) => method !== 'DELETE' && way !== 'path')) {
    const { body } = await ask(one, 'law')
    t.notMatch(body, /unknown_collection|common|medicine/, `${one.id} of the key's own`)
    if (one.way === 'questions') continue
    const unnamed = await send(one.method, one.url.replace(`?collection=${NAME}`, ''), 'liz', REQUESTS[one.id])
    t.notMatch(unnamed.body, /unknown_collection|common|medicine|passages\.txt/, `${one.id} of the key's own, unnamed`)
  }
  for (const { id } of await services.jobs.list()) await services.jobs.wait(id)
})

t.test('index jobs go into the collection that is named, and are shown to keys that may use it', async (t) => {
  const { services, send } = await withCollections(t)
  const { jobs, collections } = services
  const order = (url: string, key = 'root') => send('POST', `/v1/admin/index-jobs${url}`, key, 'id,title,text\nj1,,a text of a job\n')
  const { id } = (await order('?collection=med')).json<{ id: string }>()
  t.match(await jobs.wait(id), { state: 'done', table: 'med', result: { rows: 2 } })
  t.match((await send('GET', '/v1/passages/j1?collection=med')).json(), { text: 'a text of a job' })
  t.equal((await send('GET', '/v1/passages/j1')).statusCode, 404)
  const own = (await order('', 'liz')).json<{ id: string }>()
  t.match(await jobs.wait(own.id), { state: 'done', table: 'law' }, "a bound key's own, where none is named")
  const listed = async (key: string) =>
    (await send('GET', '/v1/admin/index-jobs', key)).json<{ jobs: { table: string }[] }>().jobs.map(({ table }) => table)
  t.same(await listed('root'), ['med', 'law'])
  t.same(await listed('liz'), ['law'])
  const none = '20260101T000000000-0000'
  for (const [method, part] of [
    ['GET', ''],
    ['DELETE', ''],
    ['POST', '/resume'],
    ['GET', '/report'],
  ] as const) {
    const [foreign, unknown] = await Promise.all([id, none].map((one) => send(method, `/v1/admin/index-jobs/${one}${part}`, 'liz')))
    t.equal(foreign?.statusCode, 404, method + part)
    const told = (body = '') =>
      body
        .replaceAll(id, '*')
        .replaceAll(none, '*')
        .replace(/"request_id":"[^"]*"/, '')
    t.equal(told(foreign?.body), told(unknown?.body), method + part)
  }
  t.equal((await order('?collection=none')).statusCode, 404)
  await t.rejects(jobs.addUpload({ bytes: Readable.from([Buffer.from('id,title,text\nx,,text\n')]), options: {}, table: 'none' }), {
    code: 'unknown_collection',
  })
  t.equal((await jobs.list()).length, 2, 'nothing is left of an order that came too late')
  t.same(await collections.names(), ['law', 'med', 'passages'])
})

t.test('collections are made, copied and removed over HTTP, by admins', async (t) => {
  const { send } = await withCollections(t)
  t.equal((await send('PUT', '/v1/collections/tax', 'ann')).statusCode, 403)
  const made = await send('PUT', '/v1/collections/tax', 'root')
  t.equal(made.statusCode, 201)
  t.same(made.json(), { name: 'tax', passages: 0, state: 'ready', default: false, problem: null })
  t.equal((await send('PUT', '/v1/collections/tax', 'root')).statusCode, 200, 'it is there')
  for (const [path, statusCode] of [
    ['tax?language=de', 409],
    ['toll?language=de', 201],
    ['toll?language=de', 200],
    ['toll?language=fr', 409],
  ] as const) {
    const put = await send('PUT', `/v1/collections/${path}`, 'root')
    t.equal(put.statusCode, statusCode, path)
    if (statusCode === 409) t.match(put.json(), { error: { code: 'conflict', field: 'language', message: /leave it out/ } })
  }
  t.equal((await send('DELETE', '/v1/collections/toll', 'root')).statusCode, 200)
  t.match((await send('POST', '/v1/answer', 'ann', { question: 'q', collection: 'tax' })).json(), { answer: null, reason: 'no_passages' })
  t.match((await send('PUT', '/v1/collections/tax?copy_of=law', 'root')).json(), { passages: 1 })
  t.match((await send('GET', '/v1/passages/p1?collection=tax')).json(), { text: /law/ })
  t.match((await send('PUT', '/v1/collections/passages?copy_of=med', 'root')).json(), { default: true, passages: 1 })
  t.match((await send('PUT', '/v1/collections/law?copy_of=none', 'root')).json(), {
    error: { code: 'unknown_collection', field: 'copy_of' },
  })
  t.match((await send('PUT', '/v1/collections/law?copy_of=med', 'liz')).json(), { error: { code: 'unknown_collection', field: 'copy_of' } })
  t.match((await send('DELETE', '/v1/collections/passages', 'root')).json(), { error: { code: 'conflict', message: /CEPE_TABLE/ } })
  t.same((await send('DELETE', '/v1/collections/tax', 'root')).json(), { deleted: 'tax' })
  t.equal((await send('GET', '/v1/collections/tax')).statusCode, 404)
  t.equal((await send('POST', '/v1/search', 'ann', { query: 'text', collection: 'tax' })).statusCode, 404)
  t.equal((await send('PUT', '/v1/collections/1st', 'root')).statusCode, 400)
})
