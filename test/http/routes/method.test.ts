import t, { type Test } from 'tap'
import { buildApp } from '../../../src/app.ts'
import { loadConfig } from '../../../src/config.ts'
import type { AnswerServices } from '../../../src/rag/pipeline.ts'
import type { Method } from '../../../src/rag/schema.ts'
import { recordingServices } from '../../helpers/recording-services.ts'
import { servicesAround } from '../../helpers/services.ts'

/** A service that notes which search a request led to. */
async function serviceWith(t: Test, method?: Method) {
  const { services: base } = recordingServices()
  const searched: Method[] = []
  const noting = (name: Method) => () => {
    searched.push(name)
    return Promise.resolve([{ id: 'p', title: 'T', text: 'x', score: 1, rank: 1 }])
  }
  const index = { ...base.retriever.index, search: noting('dense'), searchText: noting('text'), searchHybrid: noting('hybrid') }
  const answering: AnswerServices = {
    ...base,
    reader: {
      ...base.reader,
      choices: ({ passages }) =>
        Promise.resolve({
          logprobs: [[-1]],
          contextOf: passages.map(() => -1),
          inDecoder: passages.map(() => true),
          contextTokenCounts: [],
        }),
    },
    retriever: { ...base.retriever, index, ...(method && { method }) },
  }
  const app = await buildApp(await servicesAround(t, answering), loadConfig({ LOG_LEVEL: 'silent' }, {}), '0.0.0-test')
  t.teardown(() => app.close())
  const ask = async (url: string, payload: object) => {
    const response = await app.inject({ method: 'POST', url, payload })
    return { status: response.statusCode, body: response.json<{ error?: { field?: string; message: string } }>(), by: searched.splice(0) }
  }
  return { ask }
}

t.test('a request names its method; where it does not, the setting does', async (t) => {
  const { ask } = await serviceWith(t, 'hybrid')
  for (const method of ['dense', 'text', 'hybrid'] as const) {
    t.same((await ask('/v1/answer', { question: 'q', method })).by, [method])
    t.same((await ask('/v1/search', { query: 'q', method })).by, [method])
    t.same((await ask('/v1/score', { question: 'q', choices: ['a'], method })).by, [method])
  }
  t.same((await ask('/v1/answer', { question: 'q' })).by, ['hybrid'])
  t.same((await ask('/v1/search', { query: 'q' })).by, ['hybrid'])
  t.same((await ask('/v1/answer', { question: 'q', mode: 'replug' })).by, ['dense'], 'replug needs the retriever’s own scores')
  t.same((await ask('/v1/answer', { question: 'q', mode: 'replug', method: 'text' })).by, ['text'], 'unless it is told otherwise')
  t.same((await ask('/v1/answer', { question: 'q', mode: 'closed-book' })).by, [])
  t.same((await (await serviceWith(t, 'text')).ask('/v1/answer', { question: 'q' })).by, ['text'])
})

t.test('an unknown method is refused by name', async (t) => {
  const { ask } = await serviceWith(t)
  for (const [url, payload] of [
    ['/v1/answer', { question: 'q', method: 'magic' }],
    ['/v1/score', { question: 'q', choices: ['a'], method: 'magic' }],
    ['/v1/search', { query: 'q', method: 7 }],
  ] as const) {
    const { status, body, by } = await ask(url, payload)
    t.equal(status, 400)
    t.equal(body.error?.field, 'method')
    t.match(body.error?.message, /method must be one of dense, text, hybrid/)
    t.same(by, [])
  }
  t.throws(() => loadConfig({}, { CEPE_RETRIEVAL: 'both' }), { code: 'config_invalid', field: 'CEPE_RETRIEVAL' })
  t.equal(loadConfig({}, {}).RETRIEVAL, 'hybrid')
})
