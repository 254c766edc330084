import t from 'tap'
import { withCollections } from './collections-helpers.ts'

const QUESTION = { question: 'what is said' }
const CHAT = { model: 'cepe', messages: [{ role: 'user', content: 'what is said' }] }
interface Answered {
  readonly evidence: readonly { readonly title: string; readonly text: string }[]
  readonly index: { readonly table: string }
}

t.test('a request names its collection: answers, streams, batches, searches, scores, chats', async (t) => {
  const { send, asked } = await withCollections(t)
  const answer = (await send('POST', '/v1/answer', 'ann', { ...QUESTION, collection: 'law' })).json<Answered>()
  t.match(answer, { evidence: [{ id: 'p1', text: 'yes, the text of law' }], index: { table: 'law', passages: 1 } })
  t.equal(answer.evidence.length, 1)
  const streamed = await send('POST', '/v1/answer', 'ann', { ...QUESTION, collection: 'med', stream: true })
  t.match(streamed.body, /the text of medicine/)
  t.match(
    (
      await send('POST', '/v1/answers', 'ann', { questions: ['law', 'none', 'med'].map((collection) => ({ ...QUESTION, collection })) })
    ).json(),
    {
      results: [
        { result: { index: { table: 'law' } } },
        { status: 404, error: { code: 'unknown_collection' } },
        { result: { index: { table: 'med' } } },
      ],
    },
  )
  t.match((await send('POST', '/v1/search', 'ann', { query: 'text', collection: 'law', method: 'text' })).json(), {
    passages: [{ text: 'yes, the text of law' }],
    index: { table: 'law' },
  })
  t.match((await send('POST', '/v1/score', 'ann', { ...QUESTION, choices: ['yes'], collection: 'law' })).json(), {
    index: { table: 'law' },
  })
  const cepe = { collection: 'med' }
  t.match((await send('POST', '/v1/chat/completions', 'ann', { ...CHAT, cepe })).json(), {
    choices: [{ message: { content: 'yes', annotations: [{ url_citation: { url: /\/\?passage=p1&mark=0-3&collection=med$/ } }] } }],
    cepe: { index: { table: 'med' } },
  })
  t.match((await send('POST', '/v1/responses', 'ann', { model: 'cepe', input: 'what is said', cepe })).json(), {
    cepe: { index: { table: 'med' } },
  })
  t.equal(asked.generate.length > 0, true)
})

t.test('an unknown collection is 404, whatever else the request brings, and a name that can be none is 400', async (t) => {
  const { send } = await withCollections(t)
  for (const more of [{}, { passages: [{ title: '', text: 'given' }] }, { k: 0 }]) {
    const { statusCode, body } = await send('POST', '/v1/answer', 'ann', { ...QUESTION, ...more, collection: 'none' })
    t.equal(statusCode, 404)
    t.match(JSON.parse(body), { error: { code: 'unknown_collection', field: 'collection', message: /"none".*GET \/v1\/collections/ } })
  }
  for (const [path, asked] of Object.entries({ 'chat/completions': CHAT, responses: { model: 'cepe', input: 'what is said' } })) {
    const { statusCode, body } = await send('POST', `/v1/${path}`, 'ann', { ...asked, cepe: { collection: 'none' } })
    t.equal(statusCode, 404, path)
    t.match(JSON.parse(body), { error: { code: 'unknown_collection', param: 'cepe.collection' } }, path)
  }
  for (const collection of ['', '../law', 'a/b', '1st', 'x'.repeat(65), 7])
    t.equal((await send('POST', '/v1/answer', 'ann', { ...QUESTION, collection })).statusCode, 400, String(collection))
  const { statusCode } = await send('PUT', '/v1/passages?partial=true&collection=..%2Flaw', 'root', { passages: [{ id: '' }] })
  t.equal(statusCode, 400)
})

t.test('passages are read, written and deleted in the collection that the query names', async (t) => {
  const { send } = await withCollections(t)
  const passage = { id: 'new', title: '', text: 'a new text' }
  t.match((await send('PUT', '/v1/passages?collection=law', 'root', { passages: [passage] })).json(), { upserted: 1 })
  t.match((await send('GET', '/v1/passages/new?collection=law')).json(), passage)
  t.equal((await send('GET', '/v1/passages/new')).statusCode, 404)
  t.match((await send('GET', '/v1/admin/passages?collection=law', 'root')).json(), { passages: [{ id: 'new' }, { id: 'p1' }] })
  t.match((await send('GET', '/v1/admin/passages/export?collection=med', 'root')).body, /the text of medicine/)
  t.match((await send('GET', '/v1/admin/sources?collection=med', 'root')).json(), { sources: [{ source: 'med.txt', passages: 1 }] })
  t.match((await send('GET', '/v1/admin/index?collection=med', 'root')).json(), { table: 'med', rows: 1 })
  t.same((await send('POST', '/v1/passages/delete?collection=law', 'root', { ids: ['p1', 'new'] })).json(), { deleted: 2 })
  t.equal((await send('GET', '/v1/passages/p1')).statusCode, 200, 'of the same id in another collection')
  t.same((await send('DELETE', '/v1/passages/p1?collection=med', 'root')).json(), { deleted: 1 })
})

t.test('an idempotency key of one collection is none of another', async (t) => {
  const { app, send, made } = await withCollections(t)
  const put = (key: string) =>
    app.inject({
      method: 'PUT',
      url: '/v1/passages',
      headers: { authorization: `Bearer ${made[key] ?? ''}`, 'idempotency-key': 'one', 'content-type': 'application/json' },
      payload: JSON.stringify({ passages: [{ id: 'same', title: '', text: 'the same' }] }),
    })
  t.match((await put('root')).json(), { upserted: 1 })
  t.match((await put('liz')).json(), { upserted: 1 }, 'the same request means another collection with another key')
  t.equal((await put('liz')).headers['idempotency-replayed'], 'true')
  t.equal((await send('GET', '/v1/passages/same?collection=law')).statusCode, 200)
})

t.test('a key that is bound to collections means the first of them, sees its own alone, and learns of no other', async (t) => {
  const { send } = await withCollections(t)
  t.match((await send('POST', '/v1/answer', 'lee', QUESTION)).json(), { index: { table: 'law' } })
  t.match((await send('POST', '/v1/answer', 'meg', QUESTION)).json(), { model: {}, evidence: Array }, "the service's own, which it may use")
  t.match((await send('POST', '/v1/answer', 'meg', { ...QUESTION, collection: 'med' })).json(), { index: { table: 'med' } })
  t.match((await send('POST', '/v1/chat/completions', 'lee', CHAT)).json(), { cepe: { index: { table: 'law' } } })
  t.match((await send('GET', '/v1/passages/p1', 'lee')).json(), { text: 'yes, the text of law' })
  const named = async (key: string) =>
    (await send('GET', '/v1/collections', key)).json<{ collections: { name: string }[] }>().collections.map(({ name }) => name)
  t.same(await named('ann'), ['law', 'med', 'passages'])
  t.same(await named('lee'), ['law'])
  t.same(await named('meg'), ['med', 'passages'])
  t.match((await send('GET', '/v1/collections', 'lee')).json(), {
    collections: [{ name: 'law', passages: 1, state: 'ready', default: true, problem: null }],
    next: null,
  })
  t.match((await send('GET', '/v1/collections?limit=2')).json(), { collections: [{ name: 'law' }, { name: 'med' }], next: 'med' })
  t.match((await send('GET', '/v1/collections?after=med')).json(), { collections: [{ name: 'passages', default: true }], next: null })
  t.match((await send('GET', '/v1/info', 'lee')).json(), { index: { table: 'law' }, corpus: { about: /law/ }, calibration: null })
  t.notMatch((await send('GET', '/v1/info', 'lee')).body, /common|medicine/)
})

t.test('addresses of passages lead back to their collection', async (t) => {
  const { send } = await withCollections(t)
  const cited = async (key: string, cepe?: object) =>
    (await send('POST', '/v1/chat/completions', key, { ...CHAT, ...(cepe && { cepe }) })).body
  for (const query of ['', '?collection=law'])
    await send('PUT', `/v1/passages${query}`, 'root', { passages: [{ id: 'p1', title: '', text: 'yes' }] })
  t.match(await cited('ann', { collection: 'law' }), /\?passage=p1&mark=0-3&collection=law"/)
  t.match(await cited('lee'), /\?passage=p1&mark=0-3&collection=law"/)
  t.notMatch(await cited('ann'), /collection=/)
})

t.test('the number of open collections is measured, and none is named', async (t) => {
  const { app } = await withCollections(t)
  const { body } = await app.inject('/metrics')
  t.match(body, /^cepe_collections_open 3$/m)
  t.notMatch(body, /"(law|med)"/)
})

t.test('tools for agents take a collection', async (t) => {
  const { send } = await withCollections(t)
  const call = async (key: string, name: string, args: object) => {
    const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } }
    return (await send('POST', '/mcp', key, message)).body
  }
  for (const [tool, args] of [
    ['search', { query: 'text' }],
    ['answer', QUESTION],
    ['get_passage', { id: 'p1' }],
    ['list_sources', {}],
  ] as const) {
    t.match(await call('ann', tool, { ...args, collection: 'law' }), /law/, tool)
    t.notMatch(await call('lee', tool, args), /medicine|med\.txt|common|passages\.txt/, tool)
    const [foreign, unknown] = [
      await call('lee', tool, { ...args, collection: 'med' }),
      await call('lee', tool, { ...args, collection: 'nil' }),
    ]
    t.match(foreign, /unknown_collection/, tool)
    t.equal(foreign.replaceAll('med', 'nil'), unknown, tool)
  }
  t.match(await call('ann', 'list_collections', { limit: 1 }), /law: 1 passage, ready\\nmore after law/)
  t.match(await call('ann', 'list_collections', { after: 'law' }), /med: 1 passage, ready\\npassages: .*, the default"/)
  t.match(await call('lee', 'list_collections', {}), /"text":"law: 1 passage, ready, the default"/)
})
