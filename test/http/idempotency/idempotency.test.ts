import fastify from 'fastify'
import t from 'tap'
import { CodedError } from '../../../base/errors.ts'
import { onceFor } from '../../../src/http/idempotency/idempotency.ts'

t.test('what was done is answered, also where the answer cannot be kept', async (t) => {
  const full = () => Promise.reject(Object.assign(new Error('no space left on device'), { code: 'ENOSPC' }))
  const once = onceFor(() => Promise.resolve({ kept: undefined, keep: full, release: full }))
  const app = fastify()
  t.teardown(() => app.close())
  let done = 0
  const asked = { collection: 'passages', fingerprint: (): string => 'the same' }
  app.post('/done', (request, reply) => once(request, reply, { ...asked, work: () => Promise.resolve({ done: ++done }) }))
  app.post('/none', (request, reply) => {
    const work = () => Promise.reject(new CodedError('not_found', 'There is none.'))
    return once(request, reply, { ...asked, work }).catch((error: unknown) => reply.code(404).send({ error: String(error) }))
  })
  const post = (url: string) => app.inject({ method: 'POST', url, headers: { 'idempotency-key': 'k' } })
  const answered = await post('/done')
  t.equal(answered.statusCode, 200)
  t.same(answered.json(), { done: 1 })
  t.match((await post('/none')).json(), { error: /There is none/ })
})
