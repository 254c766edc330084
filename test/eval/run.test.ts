import { appendFile, mkdtemp, readFile, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import t, { type Test } from 'tap'
import type { AnswerClient } from '../../eval/client/client.ts'
import { servicesClient } from '../../eval/client/in-process.ts'
import { comparisonBlocks, compareRuns } from '../../eval/run/compare.ts'
import { toMarkdown } from '../../eval/report/blocks.ts'
import { readRunOf } from '../../eval/tasks/runs.ts'
import { CodedError } from '../../base/errors.ts'
import { prepare, type EvaluationOptions } from '../../eval/tasks/open-domain-qa/prepare.ts'
import { askQuestions } from '../../eval/tasks/open-domain-qa/ask.ts'
import { type EvalRecord, readRun } from '../../eval/tasks/open-domain-qa/record.ts'
import { PAPER_PROTOCOL, type Protocol } from '../../eval/tasks/open-domain-qa/protocol.ts'
import { summarise } from '../../eval/tasks/open-domain-qa/summary.ts'
import type { Calibration } from '../../src/rag/calibration.ts'
import { FACTS, factServices, type FactOptions } from '../helpers/fact-services.ts'

const protocol: Protocol = {
  modes: ['cepe', 'decoder-only', 'replug', 'closed-book'],
  ks: [2, 6],
  encoder_passages: ['others', 'all'],
  ...PAPER_PROTOCOL,
  k_decoder: 2,
  retrieval: 'dense',
  recall_depth: 10,
  seed: 1,
}

function lines(...records: unknown[]): string {
  return records.map((record) => `${JSON.stringify(record)}\n`).join('')
}
function factQuestion(i: number) {
  return { question: `what is fact ${i}`, answer: [`a${i}`] }
}

async function setUp(
  t: Test,
  { facts = {}, count = 8, changes = {} }: { facts?: FactOptions; count?: number; changes?: Partial<EvaluationOptions> } = {},
) {
  const dir = await mkdtemp(path.join(tmpdir(), 'cepe-eval-'))
  t.teardown(() => rm(dir, { recursive: true }))
  const questions = path.join(dir, 'questions.jsonl')
  const train = path.join(dir, 'train.jsonl')
  await writeFile(questions, lines(...Array.from({ length: count }, (_, i) => factQuestion(i))))
  await writeFile(train, lines(...Array.from({ length: 6 }, (_, i) => factQuestion(i + 10)), factQuestion(0)))
  const { services, asked } = factServices(facts)
  const client = servicesClient({ answering: services, close: () => Promise.resolve() })
  const options: EvaluationOptions = { dataset: 'nq', questions, train, protocol, dumpPrompts: false, ...changes }
  const run = async (folder = path.join(dir, 'run'), used: AnswerClient = client) => {
    const records = await askQuestions({ client: used, folder, concurrency: 2, options })
    return { manifest: (await readRun(folder)).manifest, folder, records }
  }
  return { dir, client, asked, options, run }
}

/** Everything of a record but how long it took. */
function untimed({ retrieval, predictions, ...record }: EvalRecord) {
  return {
    ...record,
    retrieval: retrieval && { ...retrieval, timings_ms: null },
    predictions: predictions.map((prediction) => ({ ...prediction, timings_ms: null })),
  }
}

t.test('every setting answers every question from one retrieval', async (t) => {
  const { run, asked } = await setUp(t, { facts: { offset: 3 } })
  const { records, manifest, folder } = await run()
  const settings = records[0]?.predictions.map(({ method, k }) => `${method} ${k}`)
  t.same(settings, [
    'cepe 2',
    'cepe 6',
    'cepe-all 2',
    'cepe-all 6',
    'decoder-only 2',
    'decoder-only 6',
    'replug 2',
    'replug 6',
    'closed-book 0',
  ])
  t.same(records[0]?.retrieval?.ids.slice(0, 4), ['p17', 'p18', 'p19', 'p0'])
  t.equal(records[0]?.retrieval?.ids.length, 10, 'recall depth')
  t.same(records[0]?.retrieval?.answer_ranks, [4])
  const { scored, settings: scores, retrieval } = summarise(manifest, records)
  t.equal(scored, 8)
  const em = (method: string, k: number) => scores.find((score) => score.method === method && score.k === k)?.exactMatch.mean
  t.same([em('cepe', 2), em('cepe', 6), em('cepe-all', 6), em('replug', 2), em('replug', 6), em('closed-book', 0)], [0, 1, 1, 0, 1, 0])
  t.same(
    retrieval?.recall.map(({ k, estimate }) => [k, estimate.mean]),
    [
      [1, 0],
      [5, 1],
      [6, 1],
    ],
  )
  const at5 = (values = retrieval?.ndcg) => values?.find(({ k }) => k === 5)?.estimate.mean
  t.ok(Math.abs((at5() ?? 0) - 1 / Math.log2(5)) < 1e-9, 'the passage with the answer is the fourth')
  t.equal(at5(retrieval?.mrr), 0.25)
  t.equal(asked.replug.length, 16)
  t.match((await readRun(folder)).manifest.subject, {
    reader: /^fake@/,
    retriever: /^fake@/,
    index: { table: 'passages' },
    questions: { file: 'questions.jsonl' },
  })
})

t.test('golden prompts: demonstrations with their passages, decoder passages, question; the rest in the encoder', async (t) => {
  const { run } = await setUp(t, { count: 1, changes: { dumpPrompts: true, protocol: { ...protocol, ks: [3], shots: 2 } } })
  const { records } = await run()
  const [record] = records
  const [first = '', second = ''] = record?.demonstrations.map((id) => String(Number(/\d+/.exec(id)?.[0]) + 9)) ?? []
  t.ok(first !== second && Number(first) >= 10 && Number(second) >= 10, 'two training questions, not the asked one')
  const demonstration = (i: string) =>
    `Document (Title: Fact ${i}): fact ${i} is a${i} indeed\n\nQuestion: what is fact ${i}\nAnswer: a${i}\n\n`
  const question = 'Question: what is fact 0\nAnswer:'
  const document = (i: number) => `Document (Title: Fact ${i}): fact ${i} is a${i} indeed`
  const promptOf = (method: string) => record?.prompts?.find((prompt) => prompt.method === method)
  t.same(promptOf('cepe'), {
    method: 'cepe',
    k: 3,
    decoder: [`${demonstration(first)}${demonstration(second)}${document(0)}\n\n${document(1)}\n\n${question}`],
    encoder: [document(2)],
  })
  t.same(promptOf('cepe-all')?.encoder, [document(0), document(1), document(2)])
  t.same(promptOf('decoder-only'), {
    method: 'decoder-only',
    k: 3,
    decoder: [`${demonstration(first)}${demonstration(second)}${document(0)}\n\n${document(1)}\n\n${document(2)}\n\n${question}`],
    encoder: [],
  })
  t.same(
    promptOf('replug')?.decoder.map((text) => text.slice(-document(0).length - question.length - 2)),
    [0, 1, 2].map((i) => `${document(i)}\n\n${question}`),
  )
  t.same(promptOf('closed-book')?.decoder, [
    `Question: what is fact ${first}\nAnswer: a${first}\n\nQuestion: what is fact ${second}\nAnswer: a${second}\n\n${question}`,
  ])
})

t.test('a stopped and resumed run equals an uninterrupted one, and repeats nothing', async (t) => {
  let left = 30
  const { run, dir, asked, options } = await setUp(t, {
    facts: {
      onAnswer: () => {
        if (left-- === 0) throw new CodedError('service_unreachable', 'The service is gone.')
      },
    },
  })
  const folder = path.join(dir, 'run')
  await t.rejects(run(folder), { code: 'service_unreachable', message: /of 8 questions are kept in .*repeat the command to resume/ })
  const kept = (await readRun(folder)).records
  t.ok(kept.length > 0 && kept.length < 8, `${kept.length} of 8 kept`)
  await appendFile(path.join(folder, 'predictions.jsonl'), '{"id":"line 7","quest')

  left = Infinity
  asked.generate.length = 0
  const resumed = await run(folder)
  const perQuestion = 7
  t.equal(
    asked.generate.length,
    (8 - kept.length) * perQuestion + 1,
    'finished questions are not asked again (one call asks which model it is)',
  )
  const whole = await run(path.join(dir, 'whole'))
  t.same(resumed.records.map(untimed), whole.records.map(untimed))
  const stored = await readRun(folder)
  t.equal(stored.records.length, 8)
  t.match(stored.manifest.resumed, [{ at: String, index_version: 3 }])
  t.same(
    summarise(resumed.manifest, resumed.records).settings.map(({ exactMatch }) => exactMatch),
    summarise(whole.manifest, whole.records).settings.map(({ exactMatch }) => exactMatch),
  )
  t.equal(options.protocol, protocol)
})

t.test('a folder with another run is refused, naming what differs', async (t) => {
  const { run, dir, client, options } = await setUp(t, { count: 2 })
  const folder = path.join(dir, 'run')
  await run(folder)
  const other = { ...options, protocol: { ...protocol, seed: 2 } }
  await t.rejects(askQuestions({ client, folder, concurrency: 1, options: other }), {
    code: 'run_mismatch',
    message: /another protocol\.seed \(1; now 2\)/,
  })
  const plan = askQuestions({ client, folder, concurrency: 1, options: other, planOnly: true })
  await t.rejects(plan, { code: 'run_mismatch', message: /another protocol\.seed/ }, 'its answers are none of the plan')
  const { services } = factServices()
  const own = { ...services.reader.manifest, qa_defaults: { ...services.reader.manifest.qa_defaults, demonstrations: 1 } }
  const served = (answer: string) => {
    const demonstrations = [{ question: 'who', answer, passage: { title: 'One', text: 'Some one.' } }]
    const answering = { ...services, reader: { ...services.reader, manifest: own }, demonstrations }
    return servicesClient({ answering, close: () => Promise.resolve() })
  }
  // Probabilities of two calibrations are not of one run.
  const shipped = JSON.parse(await readFile('index/corpus/calibration.json', 'utf8')) as Calibration
  const fitted = (day: string) => {
    const answering = { ...services, calibration: { ...shipped, fitted_at: day } }
    return askQuestions({ ...asked, client: servicesClient({ answering, close: () => Promise.resolve() }), folder: `${folder}-fitted` })
  }
  const asked = { concurrency: 1, options }
  await fitted('2026-11-27')
  await fitted('2026-11-27')
  await t.rejects(fitted('2026-11-28'), { code: 'run_mismatch', message: /another calibration \("2026-11-27"; now "2026-11-28"\)/ })
  const byService = { ...options, protocol: { ...protocol, shots: null } }
  const ask = (answer: string) => askQuestions({ client: served(answer), folder: `${folder}-own`, concurrency: 1, options: byService })
  await ask('ann')
  await ask('ann')
  await t.rejects(ask('bob'), { code: 'run_mismatch', message: /another service_prompt \("[0-9a-f]{64}"; now "[0-9a-f]{64}"\)/ })
  const { sha256: _, ...stored } = JSON.parse(await readFile(path.join(folder, 'manifest.json'), 'utf8')) as Record<string, object>
  const earlier = { ...stored, subject: { ...stored['subject'], version: 1 } }
  await writeFile(path.join(folder, 'manifest.json'), JSON.stringify(earlier))
  const reads: Promise<unknown>[] = [readRun(folder), readRunOf(folder)]
  for (const read of reads)
    await t.rejects(read, {
      code: 'run_mismatch',
      message: /is of version 1 of the task open-domain-qa; this is version 2: run it/,
    })
  await truncate(path.join(folder, 'manifest.json'), 10)
  await t.rejects(readRun(folder), { code: 'run_invalid', message: /manifest\.json is not valid JSON/ })
  await rm(path.join(folder, 'manifest.json'))
  await t.rejects(run(folder), { code: 'run_invalid', message: /predictions\.jsonl has answers, but there is no manifest\.json/ })
  await t.rejects(readRun(dir), { code: 'run_invalid', message: /is its folder that of an evaluation run/ })
})

t.test('decoder-only: once the window is full, a larger k is the same prompt and is not asked again', async (t) => {
  const { run, asked } = await setUp(t, {
    facts: { window: 60 },
    count: 1,
    changes: { protocol: { ...protocol, modes: ['decoder-only'], ks: [2, 6, 10], shots: 0 } },
  })
  const { records } = await run()
  const used = records[0]?.predictions.map(({ k, in_decoder: decoder, same_as_k: same, answer }) => [k, decoder, same, answer])
  t.same(used, [
    [2, 2, undefined, 'a0'],
    [6, 2, undefined, 'a0'],
    [10, 2, 6, 'a0'],
  ])
  t.equal(asked.generate.length, 3, 'with the call that asks which model it is')
})

t.test('a question that fails in one setting is scored in none, and counted', async (t) => {
  const { run } = await setUp(t, {
    facts: {
      onAnswer: (question) => {
        if (question === 3) throw new CodedError('unprocessable', 'question 3 is too long.')
        if (question === 5) throw new CodedError('inference_failed', 'The reader died.')
      },
    },
  })
  const { records, manifest, folder } = await run()
  const { scored, problems, settings } = summarise(manifest, records)
  t.equal(scored, 6)
  t.ok(settings.every(({ exactMatch }) => exactMatch.n === 6))
  t.match(problems, [
    { kind: 'training question that is a test question (training file)', count: 1 },
    { kind: 'unprocessable in cepe, k = 2', places: ['line 4'] },
    { kind: 'inference_failed in cepe, k = 2', places: ['line 6'] },
  ])
  const again = await setUp(t, {})
  await again.run(folder)
  t.same(
    (await readRun(folder)).records.filter(({ skipped }) => skipped).map(({ id }) => id),
    ['line 4'],
    'a failure of the service is asked again, a refusal is not',
  )
})

t.test('a window too small for the demonstrations stops the run', async (t) => {
  const { run } = await setUp(t, { facts: { window: 20 }, changes: { protocol: { ...protocol, max_new_tokens: 5 } } })
  await t.rejects(run(), {
    code: 'nothing_scored',
    message: /8 questions in a row were skipped; the last in cepe, k = 2: .*demonstrations and the question take more than/,
  })
  await t.rejects(
    run(),
    { code: 'nothing_scored', message: /All 8 questions were skipped; the first in cepe, k = 2/ },
    'repeating it does not turn it into a result',
  )
})

t.test('options that do not fit the data are refused before anything is asked', async (t) => {
  const withProtocol = async (changes: Partial<Protocol>, more: Partial<EvaluationOptions> = {}) =>
    (await setUp(t, { changes: { protocol: { ...protocol, ...changes }, ...more } })).run()
  await t.rejects(withProtocol({ ks: [FACTS + 1] }), { code: 'options_invalid', message: /has 20 passages, fewer than k = 21: lower --k/ })
  await t.rejects(withProtocol({ shots: 7 }), { code: 'options_invalid', message: /training file has 6 questions: lower --shots/ })
  const { client, options } = await setUp(t)
  const { train: _, ...withoutTrain } = options
  await t.rejects(prepare(withoutTrain, client), { code: 'options_invalid', message: /name the training file with --train/ })
  await t.rejects(prepare({ ...options, protocol: { ...protocol, retrieval: 'supplied' } }, client), {
    code: 'dataset_invalid',
    message: /No question of questions\.jsonl has 6 passages/,
  })
})

t.test('PopQA draws demonstrations from its own questions, and is scored its own way', async (t) => {
  const { client, options, dir } = await setUp(t)
  const { train: _, ...withoutTrain } = options
  const ofPopqa = { ...withoutTrain, dataset: 'popqa' }
  const prepared = await prepare(ofPopqa, client)
  const records = await askQuestions({ client, folder: path.join(dir, 'popqa'), concurrency: 1, options: ofPopqa })
  t.ok(records.every(({ id, demonstrations }) => demonstrations.length === 2 && !demonstrations.includes(id)))
  t.equal(summarise(prepared.manifest, records).settings[0]?.popqa?.mean, 1)
})

t.test('supplied passages: nothing is searched, demonstrations bring their own', async (t) => {
  const { client, options, dir } = await setUp(t)
  const ctxs = (i: number) =>
    [2, 1, 0].map((late) => ({
      id: `s${i - late}`,
      title: `Fact ${i - late}`,
      text: `fact ${i - late} is a${i - late}`,
      score: String(late),
    }))
  await writeFile(
    options.questions,
    lines(
      ...[7, 8].map((i) => ({ ...factQuestion(i), ctxs: ctxs(i) })),
      { ...factQuestion(9), ctxs: ctxs(9).slice(0, 1) },
      factQuestion(6),
    ),
  )
  const train = path.join(dir, 'train-ctxs.jsonl')
  await writeFile(train, lines(...[11, 12, 13].map((i) => ({ ...factQuestion(i), ctxs: ctxs(i) }))))
  const searching: AnswerClient = { ...client, search: () => Promise.reject(new Error('nothing should be searched')) }
  const supplied: EvaluationOptions = {
    ...options,
    train,
    dumpPrompts: true,
    protocol: { ...protocol, ks: [1, 3], retrieval: 'supplied' },
  }
  const prepared = await prepare(supplied, searching)
  t.match(prepared.manifest, {
    subject: { retriever: null, index: null },
    data: {
      problems: [
        { kind: 'fewer than 3 passages', places: ['line 3'] },
        { kind: 'no passages for the question', places: ['line 4'] },
      ],
    },
  })
  const records = await askQuestions({ client: searching, folder: path.join(dir, 'run'), concurrency: 2, options: supplied })
  t.same(
    records.map(({ id }) => id),
    ['line 1', 'line 2'],
  )
  t.same(
    records[0]?.predictions.filter(({ method }) => method === 'cepe').map(({ k, answer }) => [k, answer]),
    [
      [1, 'unknown'],
      [3, 'a7'],
    ],
  )
  t.match(records[0]?.prompts?.[0]?.decoder[0], /^Document \(Title: Fact (9|10|11)\)/, "the demonstration's own top passage")
})

t.test('unanswerable questions are asked beside the others and judge the confidence', async (t) => {
  const { dir, client, options } = await setUp(t, { facts: { offset: 0 } })
  const unanswerable = path.join(dir, 'unanswerable.jsonl')
  await writeFile(unanswerable, lines({ question: 'what is fact 99' }, { question: 'what is fact 77' }))
  const both = { ...options, unanswerable }
  const prepared = await prepare(both, client)
  const records = await askQuestions({ client, folder: path.join(dir, 'run'), concurrency: 2, options: both })
  const { scored, unanswerable: without, settings } = summarise(prepared.manifest, records)
  t.same([scored, without], [8, 2])
  t.equal(settings[0]?.aurocUnanswerable, 1)
})

t.test('two runs are compared question by question', async (t) => {
  const good = await setUp(t)
  const late = await setUp(t, { facts: { offset: 4 } })
  const a = await late.run()
  const b = await good.run()
  const { shared, comparisons } = compareRuns(await readRunOf(a.folder), await readRunOf(b.folder))
  t.equal(shared, 8)
  const byName = new Map(comparisons.filter(({ metric }) => metric === 'EM').map((comparison) => [comparison.setting, comparison]))
  t.match(byName.get('cepe, k = 2'), { a: 0, b: 1, difference: 1 })
  t.ok(Math.abs((byName.get('cepe, k = 2')?.mcnemarP ?? 1) - 2 / 256) < 1e-12)
  t.match(byName.get('cepe, k = 6'), { a: 1, b: 1, difference: 0, p: 1, mcnemarP: 1 })

  const predictions = path.join(b.folder, 'predictions.jsonl')
  const [line = '', ...others] = (await readFile(predictions, 'utf8')).split('\n')
  const { answers: _, sha256: __, ...corrected } = JSON.parse(line) as { answers: string[]; sha256: string }
  await writeFile(predictions, [JSON.stringify({ ...corrected, answers: ['another'] }), ...others].join('\n'))
  const now = compareRuns(await readRunOf(a.folder), await readRunOf(b.folder))
  t.match(now, { shared: 7, changed: 1, onlyA: 0, onlyB: 0 }, 'right answers that differ are no difference of the runs')
  t.match(toMarkdown(comparisonBlocks(now)), /0 only in the second; 1 with other right answers are left out/)
})

t.test('predictions on disk are one line per question', async (t) => {
  const { run } = await setUp(t, { count: 3 })
  const { folder } = await run()
  const text = await readFile(path.join(folder, 'predictions.jsonl'), 'utf8')
  t.equal(text.split('\n').length, 4)
  t.ok(text.endsWith('\n'))
})
