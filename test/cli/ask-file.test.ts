import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { askFile, checkFile, newFile } from '../../src/cli/run-ask.ts'
import { CodedError } from '../../base/errors.ts'
import { factServices } from '../helpers/fact-services.ts'

t.test('a file of questions, a line each: every line has its answer or what is wrong with it', async (t) => {
  const { services, asked } = factServices({
    onAnswer: (question) => {
      if (question === 5) throw new CodedError('unprocessable', 'It does not fit.')
      if (question === 7) throw Object.assign(new Error('EMFILE: too many open files'), { code: 'EMFILE' })
    },
  })
  const file = path.join(t.testdir({}), 'questions.jsonl')
  writeFileSync(
    file,
    '\uFEFFwhat is fact 1\r\n\r\n{"question": "what is fact 2", "k": 3}\n{"question": \n{"q": 1}\nwhat is fact 5\nwhat is fact 6\nwhat is fact 7',
  )
  const written: unknown[] = []
  const failures: string[] = []
  const seen: [number, number][] = []
  const counts = await askFile({
    file,
    services,
    run: {},
    defaults: { k: 4 },
    write: (line) => Promise.resolve(void written.push(JSON.parse(line))),
    onFailed: (message) => failures.push(message),
    startProgress: () => ({ update: (done, total) => seen.push([done, total]), stop: () => undefined }),
  })
  t.same(counts, { answered: 3, failed: 4 })
  t.match(written, [
    { line: 1, question: 'what is fact 1', result: { answer: 'a1' } },
    { line: 3, question: 'what is fact 2', result: { answer: 'a2' } },
    { line: 4, error: { code: 'invalid_request', message: /not valid JSON/ } },
    { line: 5, error: { code: 'invalid_request', field: 'q' } },
    { line: 6, question: 'what is fact 5', error: { code: 'unprocessable' } },
    { line: 7, question: 'what is fact 6', result: { answer: 'a6' } },
    { line: 8, question: 'what is fact 7', error: { code: 'overloaded', message: /no file descriptor left/ } },
  ])
  t.same(
    failures.map((message) => /, line (\d+): /.exec(message)?.[1]),
    ['4', '5', '6', '8'],
  )
  t.same(seen.at(-1), [7, 7])
  t.equal(asked.generate.length, 5, 'what could be read was asked')
})

t.test('a line is a line, and letters of another encoding are not replaced', async (t) => {
  const { services } = factServices()
  const file = path.join(t.testdir({}), 'questions.jsonl')
  const latin = Buffer.from('what is fact 2 \u00e9\n', 'latin1')
  writeFileSync(file, Buffer.concat([Buffer.from('{"question": "what is\u2028fact 1"}\n'), latin, Buffer.from('what is\u2029fact 3')]))
  const written: unknown[] = []
  const counts = await askFile({
    file,
    services,
    run: {},
    defaults: {},
    write: (line) => Promise.resolve(void written.push(JSON.parse(line))),
    onFailed: () => undefined,
    startProgress: () => ({ update: () => undefined, stop: () => undefined }),
  })
  t.same(counts, { answered: 2, failed: 1 })
  t.match(written, [
    { line: 1, question: 'what is\u2028fact 1', result: { answer: 'a1' } },
    { line: 2, error: { code: 'invalid_request', message: /not valid UTF-8/ } },
    { line: 3, question: 'what is\u2029fact 3', result: { answer: 'a3' } },
  ])
})

t.test('a file that is not there or has no question, and one that would be written over', async (t) => {
  const dir = t.testdir({ 'old.jsonl': 'kept', empty: '', blank: '\n  \r\n', broken: '{' })
  for (const name of ['empty', 'blank'])
    await t.rejects(checkFile(path.join(dir, name)), {
      code: 'invalid_request',
      field: '--file',
      message: /holds no question: write one a line/,
    })
  await checkFile(path.join(dir, 'broken'))
  await t.rejects(checkFile(path.join(dir, 'none')), { code: 'not_found', message: /none/ })
  await t.rejects(checkFile(dir), { code: 'not_found' })
  await t.rejects(newFile(path.join(dir, 'old.jsonl')), { code: 'conflict', field: '--out' })
  t.equal(readFileSync(path.join(dir, 'old.jsonl'), 'utf8'), 'kept')
  const made = await newFile(path.join(dir, 'new.jsonl'))
  await made.close()
})
