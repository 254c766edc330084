import { setTimeout as delay } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { CodedError } from '../../base/errors.ts'
import type { AnswerRead } from '../../src/inference/contract.ts'
import { answerQuestion } from '../../src/rag/answer.ts'
import { startTestQuestion } from '../../src/rag/test-question.ts'
import { recordingServices } from '../helpers/recording-services.ts'

function open(t: Test, options: Partial<Parameters<typeof startTestQuestion>[0]> & { fail?: () => Error | undefined } = {}) {
  const { services } = recordingServices()
  const { fail, ...others } = options
  const logged: string[] = []
  const answer: typeof services.reader.answer = (...args) => {
    const error = fail?.()
    return error ? Promise.reject(error) : services.reader.answer(...args)
  }
  const question = startTestQuestion({
    services: { ...services, reader: { ...services.reader, answer } },
    finishedRuns: () => 0,
    intervalMs: 5,
    deadlineMs: 120_000,
    log: (_, message) => void logged.push(message),
    ...others,
  })
  t.teardown(() => question.close())
  return { question, logged }
}

t.test('ready once the first question is answered; not while answers fail, and again afterwards', async (t) => {
  let broken = false
  const { question, logged } = open(t, { fail: () => (broken ? new CodedError('inference_failed', 'in /secret/folder') : undefined) })
  t.match(await question.check(), { name: 'question', ok: true })
  broken = true
  while ((await question.check()).ok) await delay(5)
  t.match(await question.check(), { ok: false, detail: 'the test question failed (inference_failed)' })
  t.match(logged, [/secret/])
  await delay(30)
  t.equal(logged.length, 1, 'one line for one failure')
  broken = false
  while (!(await question.check()).ok) await delay(5)
})

t.test('an index without a table is no error at the start, and one later', async (t) => {
  const missing = new CodedError('index_missing', 'There is no table yet')
  let error: CodedError | undefined = missing
  const levels: string[] = []
  const { question } = open(t, { fail: () => error, log: (level) => void levels.push(level) })
  t.match(await question.check(), { ok: false, detail: 'the test question failed (index_missing)' })
  t.same(levels, ['info'])
  error = new CodedError('index_invalid', 'damaged')
  while (levels.length < 2) await delay(5)
  t.same(levels, ['info', 'error'], 'another failure is logged, too')
  error = undefined
  while (!(await question.check()).ok) await delay(5)
  error = missing
  while ((await question.check()).ok) await delay(5)
  t.same(levels, ['info', 'error', 'error'])
})

t.test('a failure of the system has the code that a client would see', async (t) => {
  const full = new Error('LanceError(IO): No space left on device (os error 28), /rustc/library/std/src/fs.rs:1')
  const { question, logged } = open(t, { fail: () => full })
  t.match(await question.check(), { ok: false, detail: 'the test question failed (disk_full)' })
  t.match(logged, [/The disk is full: free space and try again/])
})

t.test('busy is not broken: past its deadline, while others are answered, it counts as ready', async (t) => {
  const fail = () => new CodedError('deadline_exceeded', 'late')
  let runs = 0
  t.equal((await open(t, { fail, finishedRuns: () => runs++ }).question.check()).ok, true)
  t.equal((await open(t, { fail }).question.check()).ok, false)
})

t.test("it is asked as a user's question is: what the model's protocol asks for, and the service's own examples", async (t) => {
  const { services } = recordingServices()
  const reads: AnswerRead[] = []
  const answer: typeof services.reader.answer = (read, run) => {
    reads.push(read)
    return services.reader.answer(read, run)
  }
  const { manifest } = services.reader
  const reader = { ...services.reader, manifest: { ...manifest, qa_defaults: { ...manifest.qa_defaults, demonstrations: 2 } }, answer }
  const { question } = open(t, { services: { ...services, reader } })
  t.match(await question.check(), { ok: true })
  await answerQuestion({ question: 'test' }, { ...services, reader })
  t.same(reads[0], reads.at(-1))
  t.match(reads[0], { kDecoder: 2, maxNewTokens: 5, demonstrations: [{ question: 'dq' }], passages: { length: 6 } })
})
