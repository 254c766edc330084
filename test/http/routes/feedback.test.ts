import { appendFile, mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import t, { type Test } from 'tap'
import { readDataset } from '../../../eval/datasets/read.ts'
import { SKIPS } from '../../helpers/skips.ts'
import { fill, smallDisk, unfill } from '../../helpers/small-disk.ts'
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
  await send('c', { question: 'withheld rightly', correct: true, answer: null })
  await send('d', { question: 'capital of italy', correct: true, answer: 'rome', expected: ['roma', 'rome'] })
  const both = await readDataset(file, { answerable: null })
  t.match(both.questions.slice(-2), [
    { id: 'c', answers: [], answerable: false },
    { id: 'd', answers: ['rome', 'roma'], answerable: true },
  ])
  t.match(both.problems, [{ kind: 'no answer', count: 1 }], 'nor an unanswerable one, for calibration')
})

const skip = (await smallDisk(t, 1)) === undefined ? SKIPS.mount : false

await t.test('after a full disk the file has every acknowledged line, whole, and nothing else', { skip }, async (t) => {
  const disk = (await smallDisk(t, 1)) ?? ''
  const file = path.join(disk, 'feedback.jsonl')
  const { send } = await withFeedback(t, { FEEDBACK: file })
  const stored: string[] = []
  let refused = 0
  for (let i = 0; i < 12; i++) {
    // Of the size of some pages, so that a part of a line fits.
    fill(disk, i % 3 === 0 ? 16_384 : 0)
    for (const id of [`r${i}.a`, `r${i}.b`, `r${i}.c`]) {
      const { statusCode } = await send(id, { question: 'q', correct: true, answer: 'a'.repeat(1500 + 211 * i) })
      if (statusCode === 200) stored.push(id)
      else {
        t.equal(statusCode, 507)
        refused++
      }
    }
    unfill(disk)
    t.equal((await send(`r${i}.d`, { question: 'q', correct: true, answer: 'after' })).statusCode, 200)
    stored.push(`r${i}.d`)
  }
  t.ok(refused > 10, `${refused} refused`)
  const lines = (await readFile(file, 'utf8')).split('\n')
  t.equal(lines.pop(), '')
  t.same(
    lines.map((line) => (JSON.parse(line) as { id: string }).id),
    stored,
  )
})

await t.test('a line that a killed process left unfinished does not spoil the next one', async (t) => {
  const { file, send } = await withFeedback(t)
  await send('a', { question: 'q', correct: true, answer: 'a' })
  await appendFile(file, '{"id": "half')
  t.equal((await send('b', { question: 'q', correct: true, answer: 'b' })).statusCode, 200)
  const lines = (await readFile(file, 'utf8')).split('\n')
  t.match(
    [lines[0], lines[2]].map((line = ''): unknown => JSON.parse(line)),
    [{ id: 'a' }, { id: 'b' }],
  )
})

t.test('a file that is a folder, or inside a file, is a failure of the disk that is explained', async (t) => {
  const dir = t.testdir({ folder: {}, file: '' })
  for (const [place, code] of [
    ['folder', 'EISDIR'],
    ['file/inside', 'EEXIST'],
    ['file/far/inside', 'ENOTDIR'],
  ] as const) {
    const { send } = await withFeedback(t, { FEEDBACK: path.join(dir, place) })
    const { statusCode, body } = await send('a.1', { question: 'q', correct: true, answer: 'a' })
    t.match([statusCode, body], [503, new RegExp(`store_unavailable.*check its permissions, mount and disk.*${code}`)])
  }
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
