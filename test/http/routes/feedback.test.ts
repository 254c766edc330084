import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import t, { type Test } from 'tap'
import { readDataset } from '../../../eval/datasets/read.ts'
import { testApp } from '../helpers.ts'

const KEY = 'admin-key-of-this-test'

async function withFeedback(t: Test, settings: Record<string, unknown> = {}) {
  const dir = await mkdtemp(path.join(tmpdir(), 'cepe-feedback-'))
  t.teardown(() => rm(dir, { recursive: true, force: true }))
  const file = path.join(dir, 'kept', 'feedback.jsonl')
  const { app } = await testApp(t, {}, { FEEDBACK: file, ADMIN_KEY: KEY, ...settings })
  const send = (id: string, body: object, key: string | undefined = KEY) =>
    app.inject({
      method: 'POST',
      url: `/v1/answers/${id}/feedback`,
      headers: { 'content-type': 'application/json', ...(key !== '' && { authorization: `Bearer ${key}` }) },
      payload: JSON.stringify(body),
    })
  return { file, send }
}

t.test('feedback is kept as lines that evaluation reads as questions', async (t) => {
  const { file, send } = await withFeedback(t)
  const right = await send('a.1', { question: 'who wrote aida', correct: true, answer: 'verdi', comment: 'fine' })
  t.same([right.statusCode, right.json()], [200, { id: 'a.1', stored: true }])
  t.equal(
    (await send('a.2', { question: 'capital of france', correct: false, answer: 'lyon', expected: ['paris', 'Paris'] })).statusCode,
    200,
  )
  t.equal((await send('a.3', { question: 'who', correct: false, answer: null })).statusCode, 200)
  await Promise.all(Array.from({ length: 20 }, (_, i) => send(`b.${i}`, { question: `q ${i}`, correct: true, answer: `a${i}` })))
  const kept = (await readFile(file, 'utf8')).trim().split('\n')
  t.equal(kept.length, 23)
  t.match(JSON.parse(kept[0] ?? ''), {
    id: 'a.1',
    question: 'who wrote aida',
    answers: ['verdi'],
    feedback: { at: /^\d{4}-/, key: 'CEPE_ADMIN_KEY', correct: true, answer: 'verdi', comment: 'fine' },
  })
  t.equal((await stat(file)).mode & 0o777, 0o600)
  const { questions, problems } = await readDataset(file)
  t.match(questions, [
    { id: 'a.1', question: 'who wrote aida', answers: ['verdi'] },
    { id: 'a.2', answers: ['paris', 'Paris'] },
  ])
  t.equal(questions.length, 22)
  t.match(problems, [{ kind: 'no answer', count: 1 }], 'a wrong answer without a right one is no question')
})

t.test('it is off without a file and without a key, and bounded', async (t) => {
  const good = { question: 'q', correct: true, answer: 'a' }
  const { send: off } = await withFeedback(t, { FEEDBACK: undefined })
  t.match((await off('a', good)).json(), { error: { code: 'forbidden', message: /CEPE_FEEDBACK/ } })
  const { send, file } = await withFeedback(t, { FEEDBACK_MB: 1 })
  t.match((await send('a', good, '')).json(), { error: { code: 'unauthorized' } })
  t.match((await send('a', good, 'wrong')).json(), { error: { code: 'unauthorized' } })
  for (const [id, body, field] of [
    ['a', { ...good, correct: 'yes' }, 'correct'],
    ['a', { correct: true }, 'question'],
    ['a', { ...good, expected: [] }, 'expected'],
    ['a', { ...good, more: 1 }, 'more'],
    ['..%2f..%2fetc', good, 'id'],
  ] as const)
    t.match((await send(id, body)).json(), { error: { code: 'invalid_request', field } }, field)
  const long = { ...good, question: 'q'.repeat(4096), answer: 'a'.repeat(4096) }
  let status = 200
  for (let i = 0; i < 200 && status === 200; i++) status = (await send(`a${i}`, long)).statusCode
  t.equal(status, 507)
  t.ok((await stat(file)).size <= 2 ** 20)
  t.equal((await send('a', good)).statusCode, 200, 'a short line still fits')
})
