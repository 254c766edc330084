import { execFileSync } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import t from 'tap'
import { at } from '../../base/at.ts'
import { mulberry32 } from '../../base/random.ts'
import { fitCalibration, fitLogistic, type JudgedSignals, predict } from '../../eval/calibrate/fit.ts'
import { calibrationError, coverageAtRisk, logLoss } from '../../eval/metrics/confidence.ts'
import { CodedError } from '../../base/errors.ts'
import { buildApp } from '../../src/app.ts'
import { loadConfig } from '../../src/config.ts'
import { type Calibration, probabilityCorrect, SIGNALS, type Signals } from '../../src/rag/calibration.ts'
import { runCli } from '../helpers/cli.ts'
import { FACTS, factServices } from '../helpers/fact-services.ts'
import { servicesAround } from '../helpers/services.ts'
import { tinyShared } from '../helpers/service-settings.ts'

const close = (a: number, b: number, within = 1e-6) => Math.abs(a - b) < within
const unweighted = (rows: readonly (readonly number[])[], labels: readonly number[]) =>
  rows.map((row, i) => ({ row, label: at(labels, i), weight: 1 }))

t.test('logistic regression', (t) => {
  // One binary column: the fit without a penalty is the observed shares themselves.
  const column = [0, 0, 0, 0, 1, 1, 1, 1, 1, 1].map((value) => [value])
  const labels = [1, 0, 0, 0, 1, 1, 1, 1, 0, 0]
  const free = fitLogistic(unweighted(column, labels), 1e-9)
  t.ok(close(predict(free, [0]), 1 / 4, 1e-4))
  t.ok(close(predict(free, [1]), 4 / 6, 1e-4))

  const random = mulberry32(3)
  const rows = Array.from({ length: 4000 }, () => [10 * random(), random() - 0.5, 7])
  const truth = ([a = 0, b = 0]: readonly number[]) => 1 / (1 + Math.exp(-(0.8 * (a - 5) - 4 * b)))
  const drawn = rows.map((row) => (random() < truth(row) ? 1 : 0))
  const fitted = fitLogistic(unweighted(rows, drawn), 1)
  const worst = Math.max(...rows.map((row) => Math.abs(predict(fitted, row) - truth(row))))
  t.ok(worst < 0.06, `the probabilities that the labels were drawn by come back (${worst})`)
  t.ok(close(at(fitted.weights, 2), 0), 'a column that never varies weighs nothing')

  const separable = fitLogistic(unweighted([[0], [1], [2], [3]], [0, 0, 1, 1]), 1)
  t.ok(at(separable.weights, 0) > 0 && at(separable.weights, 0) < 10, 'the penalty bounds what the data do not')
  const strict = fitLogistic(unweighted([[0], [1], [2], [3]], [0, 0, 1, 1]), 100)
  t.ok(at(strict.weights, 0) < at(separable.weights, 0))
  const alike = fitLogistic(unweighted([[1], [2]], [1, 1]), 1)
  t.ok(predict(alike, [1]) > 0.9, 'one kind of label alone')

  const twice = fitLogistic(unweighted([[0], [1], [1], [2]], [0, 1, 1, 1]), 1)
  const weighed = fitLogistic(
    [
      { row: [0], label: 0, weight: 1 },
      { row: [1], label: 1, weight: 2 },
      { row: [2], label: 1, weight: 1 },
    ],
    1,
  )
  for (const value of [0, 1, 2]) t.ok(close(predict(twice, [value]), predict(weighed, [value])), 'a weight of two is twice the row')
  t.end()
})

t.test('calibration error, log loss, coverage at a risk', (t) => {
  const answers = [
    { confidence: 0.95, correct: 1 },
    { confidence: 0.95, correct: 0 },
    { confidence: 0.15, correct: 0 },
    { confidence: 1, correct: 1 },
  ]
  // Bins: three answers around 0.967 of which 2/3 are right; one at 0.15 that is wrong.
  t.ok(close(calibrationError(answers), (2.9 - 2 + 0.15) / 4))
  t.ok(
    close(
      calibrationError([
        { confidence: 0.5, correct: 1, weight: 1 },
        { confidence: 0.5, correct: 0, weight: 3 },
      ]),
      0.25,
    ),
  )
  t.ok(Number.isNaN(calibrationError([])) && Number.isNaN(logLoss([])) && Number.isNaN(coverageAtRisk([], 0.1)))
  t.ok(
    close(
      logLoss([
        { confidence: 0.8, correct: 1 },
        { confidence: 0.8, correct: 0 },
      ]),
      -(Math.log(0.8) + Math.log(0.2)) / 2,
    ),
  )
  t.ok(Number.isFinite(logLoss([{ confidence: 1, correct: 0 }])))
  t.equal(
    coverageAtRisk(
      [
        { confidence: 0.9, correct: 1 },
        { confidence: 0.8, correct: 0 },
        { confidence: 0.7, correct: 1 },
        { confidence: 0.6, correct: 1 },
      ],
      0.25,
    ),
    1,
  )
  t.equal(
    coverageAtRisk(
      [
        { confidence: 0.9, correct: 1 },
        { confidence: 0.8, correct: 0 },
      ],
      0.1,
    ),
    0.5,
  )
  t.equal(coverageAtRisk([{ confidence: 0.9, correct: 0 }], 0.1), 0)
  t.end()
})

/** As many questions as answers. */
function countsOf(answers: readonly JudgedSignals[]) {
  const answerable = answers.filter((answer) => answer.answerable).length
  return { answerable, unanswerable: answers.length - answerable }
}

/** Answers whose confidence says too much: right in half of what it is sure of. */
function overconfident(count: number): JudgedSignals[] {
  const random = mulberry32(11)
  const zeros = Object.fromEntries(SIGNALS.map((name) => [name, 0])) as Signals
  return Array.from({ length: count }, (_, i) => {
    const known = random() < 0.5
    return {
      signals: { ...zeros, confidence: 0.9 + 0.1 * random(), sentence_overlap: known ? 0.6 + 0.4 * random() : 0.4 * random() },
      right: known ? random() < 0.9 : random() < 0.1,
      answerable: known || random() < 0.5,
      group: `g${i % 50}`,
    }
  })
}

t.test('a fit tells right answers apart, says how well on held-out groups, and shifts with the share of unanswerable questions', (t) => {
  const answers = overconfident(600)
  const counts = countsOf(answers)
  const { cross_validated: quality, ...fitted } = fitCalibration(answers, null, counts)
  t.ok(quality.probability.ece < 0.1 && quality.probability.auroc > 0.8, JSON.stringify(quality))
  t.ok(quality.confidence.ece > 0.3)
  const calibration = {
    version: 1 as const,
    fitted_at: '',
    reader: '',
    prompt: { chat_template: 'none', instruction: '', mode: 'cepe', demonstrations: 0 } as const,
    retriever: null,
    index: { table: '', version: 1, passages: 1 },
    ...fitted,
  }
  const asked = { files: [], k: [], answers: 0, right: 0, unanswerable: 0, unanswerable_share: null }
  const sure = (values: Partial<Signals>) =>
    probabilityCorrect({ ...calibration, asked, cross_validated: quality }, { ...at(answers, 0).signals, ...values }) ?? NaN
  t.ok(sure({ sentence_overlap: 0.9 }) > 0.7 && sure({ sentence_overlap: 0.1 }) < 0.3)
  t.same(fitCalibration(answers, null, counts).signals, fitted.signals, 'the same answers give the same fit')
  t.ok(fitCalibration(answers, 0.02, counts).bias > fitCalibration(answers, 0.9, counts).bias)
  t.throws(
    () =>
      fitCalibration(
        answers.map((answer) => ({ ...answer, right: false })),
        null,
        counts,
      ),
    { code: 'nothing_scored', message: /20 of each/ },
  )
  t.end()
})

t.test('the share is of questions: those that a reader leaves without an answer count', (t) => {
  const zeros = Object.fromEntries(SIGNALS.map((name) => [name, 0])) as Signals
  const answer = (i: number, right: boolean, answerable: boolean): JudgedSignals => ({ signals: zeros, right, answerable, group: `g${i}` })
  // 100 answers to answerable questions, half of them right, and 10 to unanswerable ones.
  const answers = Array.from({ length: 110 }, (_, i) => answer(i, i < 50, i < 100))
  const probability = (share: number | null, asked: ReturnType<typeof countsOf>) =>
    1 / (1 + Math.exp(-fitCalibration(answers, share, asked).bias))
  const all = { answerable: 100, unanswerable: 10 }
  t.ok(close(probability(null, all), 50 / 110), 'as given')
  t.ok(close(probability(0.1, all), 0.9 * 0.5), 'all were answered')
  // Of 10 % unanswerable questions a tenth is answered: 0.01 of the questions, beside 0.9 answerable ones.
  t.ok(close(probability(0.1, { answerable: 100, unanswerable: 100 }), 0.45 / 0.91))
  // Half of the answerable questions are answered.
  t.ok(close(probability(0.1, { answerable: 200, unanswerable: 10 }), 0.225 / 0.55))
  t.end()
})

t.test('the command asks a service and writes what it starts with', async (t) => {
  const { services: answering } = factServices({
    onAnswer: (question) => {
      if (question === FACTS + 23) throw new CodedError('internal', 'the process died')
    },
  })
  const app = await buildApp(await servicesAround(t, answering), loadConfig({ LOG_LEVEL: 'silent' }, {}), '0.0.0-test')
  t.teardown(() => app.close())
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  const dir = await mkdtemp(path.join(tmpdir(), 'cepe-calibrate-'))
  t.teardown(() => rm(dir, { recursive: true, force: true }))
  const [known, unknown, out] = ['known.jsonl', 'unknown.jsonl', 'calibration.json'].map((name) => path.join(dir, name)) as [
    string,
    string,
    string,
  ]
  const line = (i: number) => JSON.stringify({ question: `what is fact ${i}`, ...(i < FACTS && { answer: [`a${i}`] }) })
  const lines = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => `${line(from + i)}\n`).join('')
  await writeFile(known, `${lines(0, FACTS) + lines(FACTS, FACTS + 12)}no line of JSON\n`)
  await writeFile(unknown, lines(FACTS + 12, FACTS + 24))

  const few = await runCli(['calibrate', known, '--url', url, '--out', out])
  t.equal(few.code, 1)
  t.match(few.stderr, /known\.jsonl: 1 x not valid JSON \(line 33\), skipped/)
  t.match(few.stderr, /20 answers are right and 12 wrong; a calibration needs 20 of each/)
  await t.rejects(readFile(out), { code: 'ENOENT' }, 'nothing was written')

  const done = await runCli(['calibrate', known, '--unanswerable', unknown, '--unanswerable-share', '0.1', '--url', url, '--out', out])
  t.equal(done.code, 0, done.stderr)
  t.match(done.stdout, /43 answers of fake@.*, 20 of them right, 23 to 23 unanswerable questions; 1 skipped/)
  const calibration = JSON.parse(await readFile(out, 'utf8')) as Calibration
  t.match(calibration, {
    reader: /^fake@/,
    prompt: { chat_template: 'none', instruction: '', mode: 'cepe', demonstrations: 0 },
    index: { table: 'passages', version: 3, passages: FACTS },
    asked: { files: [{ name: 'known.jsonl' }, { name: 'unknown.jsonl' }], k: [null], answers: 43, right: 20, unanswerable_share: 0.1 },
    cross_validated: { probability: { auroc: 1 } },
  })
  t.notMatch(await readFile(out, 'utf8'), dir, 'the file names no folders')

  const judging = await buildApp(
    await servicesAround(t, { ...answering, calibration }),
    loadConfig({ LOG_LEVEL: 'silent' }, {}),
    '0.0.0-test',
  )
  t.teardown(() => judging.close())
  const ask = async (question: string) =>
    (await judging.inject({ method: 'POST', url: '/v1/answer', payload: { question, min_confidence: 0.5 } })).json<object>()
  t.match(await ask('what is fact 3'), { answer: 'a3', abstained: false, reason: null, probability_correct: Number })
  t.match(await ask('what is fact 99'), { answer: null, abstained: true, reason: 'low_probability_correct' })

  const instructed = { method: 'POST', url: '/v1/answer', payload: { question: 'what is fact 3', instruction: 'Be brief.' } } as const
  t.match((await judging.inject(instructed)).json(), { answer: 'a3', probability_correct: null })

  const pipe = path.join(dir, 'pipe')
  execFileSync('mkfifo', [pipe])
  for (const taken of [dir, path.join(known, 'calibration.json'), pipe, '', '/proc/none/calibration.json']) {
    const unasked = await runCli(['calibrate', known, '--url', url, '--out', taken])
    t.equal(unasked.code, 1)
    t.match(unasked.stderr, taken === '' ? /The argument of "--out" is empty/ : /cannot be written .*name another file with --out/)
    t.notMatch(unasked.stderr, /Asking/, 'before any question')
  }
  t.ok((await stat(pipe)).isFIFO(), 'a pipe or a device is not replaced')
  const refused = await runCli(['calibrate', known, '--url', url, '--out', out, '--k', '0'])
  t.equal(refused.code, 1)
  t.match(refused.stderr, /--k takes whole numbers from 1 to 200/)
})

t.test('without files the shipped questions calibrate a reader over the shipped corpus, whatever index is configured', async (t) => {
  const dir = await mkdtemp(path.join(tmpdir(), 'cepe-calibrate-'))
  t.teardown(() => rm(dir, { recursive: true, force: true }))
  const env = tinyShared(dir)
  const remote = await runCli(['calibrate', '--url', 'http://127.0.0.1:1', '--out', path.join(dir, 'c.json')], env)
  t.equal(remote.code, 1)
  t.match(remote.stderr, /Name question files: the shipped ones are about the shipped corpus/)
  const done = await runCli(['calibrate', '--limit', '80', '--k', '2'], env)
  t.equal(done.code, 0, done.stderr)
  const calibration = JSON.parse(await readFile(path.join(dir, 'index', 'calibration.passages.json'), 'utf8')) as Calibration
  t.match(calibration, {
    reader: /^cepe@/,
    index: { passages: 2305 },
    asked: { files: [{ name: 'dev.jsonl' }, { name: 'dev_unanswerable.jsonl' }], k: [2], unanswerable_share: 0.1 },
  })
  const { answers, unanswerable } = calibration.asked
  t.ok(answers > 60 && answers <= 80, `${answers} answers`)
  // 120 of 540 questions are unanswerable: of 80 evenly spaced ones 17 or 18.
  t.ok(unanswerable > 5 && unanswerable <= 18, `${unanswerable} to unanswerable questions`)
  t.same(await readdir(path.join(dir, 'index')), ['calibration.passages.json'], 'the configured index stays as it is')
})
