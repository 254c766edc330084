import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { Type } from 'typebox'
import { Value } from 'typebox/value'
import { root } from '../../helpers/root.ts'
import { SKIPS } from '../../helpers/skips.ts'
import { testApp } from '../helpers.ts'

const FOLDER = path.join(root, 'test/fixtures/clients')
/** A Python with cohere, langchain-cohere and litellm. */
const python = process.env['TEST_CLIENTS_PYTHON'] ?? ''

const CallSchema = Type.Object({ package: Type.String(), version: Type.String(), call: Type.String() })
const RecordedSchema = Type.Array(
  Type.Object({ ...CallSchema.properties, path: Type.String(), body: Type.Record(Type.String(), Type.Unknown()) }),
)
const ToldSchema = Type.Array(Type.Object({ ...CallSchema.properties, order: Type.Array(Type.Integer()) }))

interface Ranked {
  readonly index: number
}

t.test('requests as clients of other services send them, recorded, are answered in the form that each reads', async (t) => {
  const { post } = await testApp(t)
  const recorded = Value.Parse(RecordedSchema, JSON.parse(await readFile(path.join(FOLDER, 'rerank.json'), 'utf8')))
  for (const { package: name, call, path: url, body } of recorded) {
    const response = await post(url, body)
    t.equal(response.statusCode, 200, `${name} ${call}`)
    const ranked = 'texts' in body ? response.json<Ranked[]>() : response.json<{ results: Ranked[] }>().results
    t.same(
      ranked.map(({ index }) => index),
      [1, 2],
      `${name} ${call}`,
    )
  }
})

t.test('the clients themselves send that and read the answers', { skip: python === '' ? SKIPS.pythonClients : false }, async (t) => {
  const { app } = await testApp(t)
  const sent: { path: string; body: unknown }[] = []
  app.addHook('preValidation', (request, _reply, next) => {
    sent.push({ path: request.url, body: structuredClone(request.body) })
    next()
  })
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  const { stdout } = await promisify(execFile)(python, [path.join(FOLDER, 'rerank.py'), url])
  const told = Value.Parse(ToldSchema, JSON.parse(stdout.trim().split('\n').at(-1) ?? ''))
  for (const { package: name, call, order } of told) t.same(order, [1, 2], `${name} ${call}`)
  const recorded = Value.Parse(RecordedSchema, JSON.parse(await readFile(path.join(FOLDER, 'rerank.json'), 'utf8')))
  t.same(
    sent,
    recorded.map(({ path: url, body }) => ({ path: url, body })),
    'as recorded',
  )
})
