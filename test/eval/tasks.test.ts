import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import t, { type Test } from 'tap'
import { createReaderClient, type ReaderClient } from '../../eval/client/reader.ts'
import { f1 } from '../../eval/metrics/answer.ts'
import { rougeL, rougeN, stemOf } from '../../eval/metrics/rouge.ts'
import { compareRuns, comparisonBlocks } from '../../eval/run/compare.ts'
import { buildTaskReport } from '../../eval/run/report.ts'
import { readRunOf } from '../../eval/tasks/runs.ts'
import { taskOptions } from '../../eval/run/options.ts'
import { runTask } from '../../eval/run/run-task.ts'
import { summariseTask } from '../../eval/run/summary.ts'
import type { Task } from '../../eval/run/contract.ts'
import { toMarkdown } from '../../eval/report/blocks.ts'
import { optionSums, predictions } from '../../eval/tasks/icl/score.ts'
import { icl } from '../../eval/tasks/icl/task.ts'
import { lines } from '../../eval/tasks/lines/task.ts'
import { lm } from '../../eval/tasks/lm/task.ts'
import { passkey } from '../../eval/tasks/passkey/task.ts'
import { ralm } from '../../eval/tasks/ralm/task.ts'
import type { Golden } from '../../models/golden.ts'
import { builtFixture } from '../fixtures/built-fixture.ts'
import { REFERENCE_TASKS, TASK_GOLDENS } from '../helpers/task-goldens.ts'
import { ATOL, largestDifference, numbers, rowsOf } from '../inference/pool/golden-requests.ts'

async function folder(t: Test): Promise<string> {
  const dir = await mkdtemp(path.join(tmpdir(), 'cepe-tasks-'))
  t.teardown(() => rm(dir, { recursive: true }))
  return dir
}

/** The real reader over a built fixture, with its tokenizer of words. */
async function clientOf(t: Test, fixture: string): Promise<ReaderClient> {
  const modelDir = await builtFixture(t, fixture)
  const client = await createReaderClient({ READER_DIR: modelDir, READER_CHECKPOINT: '' })
  t.teardown(() => client.close())
  return client
}

async function lossesOf(
  t: Test,
  { task, client }: { readonly task: Task; readonly client: ReaderClient },
  data: object,
  given: Record<string, string>,
): Promise<Map<string, number>> {
  const dir = await folder(t)
  const file = path.join(dir, 'data.jsonl')
  await writeFile(file, `${JSON.stringify(data)}\n`)
  await runTask({ task, options: taskOptions(task, { data: file, ...given }), client, folder: path.join(dir, 'run') })
  const { records } = await readRunOf(path.join(dir, 'run'))
  return new Map(
    records.flatMap(({ results }) => results.map(({ setting, scores }) => [setting.split(',')[0] ?? '', scores['loss'] ?? Number.NaN])),
  )
}

function lossIn(golden: Golden): number {
  return golden.floats('loss').data[0] ?? Number.NaN
}

for (const { whose, fixture, golden: goldenOf } of TASK_GOLDENS) {
  await t.test(`losses of ${whose} come out of the tasks`, async (t) => {
    const client = await clientOf(t, fixture)
    const near = (t: Test, value: number | undefined, golden: Golden, what: string) =>
      t.ok(Math.abs((value ?? Number.NaN) - lossIn(golden)) < ATOL, `${what}: ${value} beside ${lossIn(golden)}`)

    await t.test('lm: contexts in the encoder, and the full context', async (t) => {
      const golden = await goldenOf('lm-cepe')
      const contexts = rowsOfAll(golden)
      const ids = numbers(golden, 'input_ids')
      const sizes = {
        contexts: String(contexts.length),
        contextTokens: String(contexts[0]?.length),
        decoderTokens: String(ids.length),
        scoredTokens: '16',
      }
      const whole = { ids: [...contexts.flat(), ...ids] }
      const losses = await lossesOf(t, { task: lm, client }, whole, { ...sizes, methods: 'cepe' })
      near(t, losses.get('cepe'), golden, 'cepe')
      const full = await goldenOf('lm-full-context')
      const joined = await lossesOf(t, { task: lm, client }, { ids: numbers(full, 'input_ids') }, { ...sizes, methods: 'full-context' })
      near(t, joined.get('full-context'), full, 'full context')
    })

    await t.test('lm: streaming', async (t) => {
      const golden = await goldenOf('lm-streaming')
      const ids = numbers(golden, 'input_ids')
      const sizes = { contexts: '9', contextTokens: '16', decoderTokens: '56', scoredTokens: '16' }
      const cache = { sinks: '4', recent: '28', stride: '32' }
      const losses = await lossesOf(t, { task: lm, client }, { ids }, { ...sizes, ...cache, methods: 'streaming' })
      near(t, losses.get('streaming'), golden, 'streaming')
    })

    await t.test('ralm: ragged contexts, RePlug by scores and uniform', async (t) => {
      for (const [name, method] of [
        ['lm-retrieval-cepe', 'cepe'],
        ['lm-retrieval-replug-scores', 'replug'],
        ['lm-retrieval-replug-uniform', 'replug'],
      ] as const) {
        const golden = await goldenOf(name)
        const scores = golden.has('context_scores') ? [...golden.floats('context_scores').data] : [0, 0, 0, 0]
        const ctxs = rowsOf(golden, 'encoder_input_ids', 'encoder_attention_mask').map((ids, i) => ({ ids, score: scores[i] }))
        const sizes = { contexts: '4', contextTokens: '16', decoderTokens: '56', queryTokens: '8' }
        const data = { ids: numbers(golden, 'input_ids'), ctxs }
        const losses = await lossesOf(t, { task: ralm, client }, data, { ...sizes, methods: method })
        near(t, losses.get(method), golden, name)
      }
    })

    await t.test('icl: options after a prompt, calibrated, and the four predictions', async (t) => {
      const golden = await goldenOf('icl-options')
      const lengths = numbers(golden, 'lengths')
      const rows = rowsOfAll(golden, 'options').map((row, i) => row.slice(0, lengths[i]))
      const sums = await optionSums(numbers(golden, 'input_ids'), rowsOfAll(golden), rows, client)
      const calibration = await optionSums([1], [], rows, client)
      t.ok(largestDifference(sums, golden.floats('sum').data) < ATOL)
      t.ok(largestDifference(calibration, golden.floats('calibration').data) < ATOL)
      t.same(Object.values(predictions({ sums, calibration, lengths })), numbers(golden, 'predictions'))
    })
  })
}

/** Rows of ids without a mask. */
function rowsOfAll(golden: Golden, name = 'encoder_input_ids'): number[][] {
  const {
    data,
    shape: [rows = 0, length = 0],
  } = golden.ints(name)
  return Array.from({ length: rows }, (_, row) => Array.from(data.subarray(row * length, (row + 1) * length), Number))
}

await t.test("ROUGE-L as the reference's package has it", async (t) => {
  const cases = JSON.parse(await readFile('test/fixtures/rouge/rouge-l.json', 'utf8')) as {
    prediction: string
    reference: string
    rougeL_f: number
  }[]
  for (const { prediction, reference, rougeL_f } of cases)
    t.ok(Math.abs(rougeL(prediction, reference) - rougeL_f) < 1e-9, `ROUGE-L of ${prediction}`)
})

await t.test('ROUGE-1 and ROUGE-2: shared sequences, each as often as the side with fewer', (t) => {
  const near = (value: number, wanted: number) => t.ok(Math.abs(value - wanted) < 1e-12, `${value}, not ${wanted}`)
  // the cat sat on the mat: 5 of 6 words are shared (the, the, cat, on, mat), and of 5 pairs the cat, on the, the mat.
  near(rougeN(1, 'The cat sat on the mat.', 'the cat is on the mat'), 5 / 6)
  near(rougeN(2, 'The cat sat on the mat.', 'the cat is on the mat'), 3 / 5)
  // One of three in front, one of one behind: 2 x 1/3 x 1 / (4/3).
  near(rougeN(1, 'cat cat cat', 'cats'), 1 / 2)
  near(rougeN(2, 'cat', 'cat'), 0)
  near(rougeN(1, '', 'cat'), 0)
  t.end()
})

const recorded = path.join(REFERENCE_TASKS, 'rouge-and-f1.json')
await t.test("stems as NLTK's, word by word", async (t) => {
  const stems = JSON.parse(await readFile('test/fixtures/rouge/stems.json', 'utf8')) as Record<string, string>
  t.ok(Object.keys(stems).length > 1000)
  for (const [word, stem] of Object.entries(stems)) if (stemOf(word) !== stem) t.fail(`${word}: ${stemOf(word)}, not ${stem}`)
})

await t.test('ROUGE-L and F1 of the reference', async (t) => {
  const cases = JSON.parse(await readFile(recorded, 'utf8')) as {
    prediction: string
    reference: string
    rougeL_f: number
    f1_reference: number
  }[]
  for (const { prediction, reference, rougeL_f, f1_reference } of cases) {
    t.ok(Math.abs(rougeL(prediction, reference) - rougeL_f) < 1e-9, `ROUGE-L of ${prediction}`)
    // The reference gives 0 to two empty texts, SQuAD 2.0's script 1.
    if (reference !== '') t.ok(Math.abs(f1(prediction, reference) - f1_reference) < 1e-9, `F1 of ${prediction}`)
  }
})

await t.test('a run is resumed, reported and compared; another one is refused', async (t) => {
  const client = await clientOf(t, 'cepe-tiny-gqa')
  const dir = await folder(t)
  const run = path.join(dir, 'run')
  const words = Array.from({ length: 300 }, (_, i) => `w${3 + ((i * 7) % 50)}`).join(' ')
  const data = path.join(dir, 'text.jsonl')
  await writeFile(data, `${JSON.stringify({ id: 'one', text: words })}\n{"nothing": 1}\n`)
  const given = {
    data,
    contexts: '0,2',
    contextTokens: '16',
    decoderTokens: '64',
    scoredTokens: '16',
    step: '64',
    windows: '3',
    sinks: '2',
    methods: 'cepe,streaming',
  }
  const problems: string[] = []
  const ask = (changes: Record<string, string> = {}, into = run) =>
    runTask({
      task: lm,
      options: taskOptions(lm, { ...given, ...changes }),
      client,
      folder: into,
      onProblem: ({ kind }) => problems.push(kind),
    })
  await ask()
  t.ok(problems.includes('no text or ids'), 'what was left out is named')
  const first = await readRunOf(run)
  t.equal(first.records.length, 3)
  const summary = summariseTask(lm, first)
  t.same(
    summary.settings.map(({ setting, n }) => [setting, n]),
    [
      ['decoder-only, 64 tokens', 3],
      ['cepe, 96 tokens (2 x 16 + 64)', 3],
      ['streaming, 96 tokens (2 x 16 + 64)', 3],
    ],
  )
  t.ok(
    summary.settings.every(({ scores }) => (scores['loss']?.mean ?? 0) > 1),
    'perplexities',
  )

  const lines_ = (await readFile(path.join(run, 'predictions.jsonl'), 'utf8')).split('\n')
  await writeFile(path.join(run, 'predictions.jsonl'), `${lines_[0]}\n${lines_[1]?.slice(0, 20)}`)
  await ask()
  const resumed = await readRunOf(run)
  t.equal(resumed.manifest.resumed.length, 1)
  const losses = (records: typeof first.records) => records.map(({ id, results }) => [id, results.map(({ scores }) => scores)])
  t.same(losses(resumed.records), losses(first.records), 'the same after a cut')

  await t.rejects(ask({ scoredTokens: '8' }), { code: 'run_mismatch', message: /scoredTokens/ })
  await t.rejects(
    runTask({
      task: passkey,
      options: taskOptions(passkey, { tokens: '90', distances: '1', tries: '1', decoderTokens: '40' }),
      client,
      folder: run,
    }),
    { code: 'run_mismatch' },
  )
  await t.rejects(ask({ scoredTokens: '64' }, path.join(dir, 'other')), { code: 'options_invalid', message: /scored-tokens/ })

  const other = path.join(dir, 'decoder-only')
  await ask({ sinks: '0' }, other)
  t.match(
    toMarkdown(comparisonBlocks(compareRuns(first, await readRunOf(other)))),
    /streaming, 96 tokens .*\| perplexity \(as loss\) \| 3 \|/,
  )
  const ofOthers = path.join(dir, 'other-texts')
  await writeFile(path.join(dir, 'others.jsonl'), `${JSON.stringify({ id: 'one', text: words.toUpperCase() })}\n`)
  await ask({ data: path.join(dir, 'others.jsonl') }, ofOthers)
  const others = await readRunOf(ofOthers)
  t.throws(() => compareRuns(first, others), { code: 'run_mismatch', message: /different data files/ }, 'equal numbers are not equal items')
  const report = buildTaskReport([first])
  t.match(toMarkdown(report.blocks), /\| cepe, 96 tokens/)
  t.equal(report.blocks.filter(({ kind }) => kind === 'figure').length, 2)
  t.notMatch(toMarkdown(report.blocks), /tokens\/s/, 'three windows tell no speed')
})

await t.test('what a window does not hold has no score and is named', async (t) => {
  const client = await clientOf(t, 'cepe-tiny-gqa')
  const dir = await folder(t)
  const given = { tokens: '160', distances: '2', tries: '1', decoderTokens: '60', chunkTokens: '32', maxNewTokens: '4' }
  await runTask({ task: passkey, options: taskOptions(passkey, given), client, folder: path.join(dir, 'p') })
  const { records } = await readRunOf(path.join(dir, 'p'))
  t.ok(records.every(({ results }) => results.some(({ setting }) => setting === 'cepe')))
  const full = { contexts: '20', contextTokens: '16', decoderTokens: '64', scoredTokens: '8', data: path.join(dir, 't.jsonl') }
  await writeFile(full.data, `${JSON.stringify({ ids: Array.from({ length: 400 }, (_, i) => 3 + (i % 40)) })}\n`)
  await runTask({
    task: lm,
    options: taskOptions(lm, { ...full, methods: 'cepe,full-context', windows: '1' }),
    client,
    folder: path.join(dir, 'l'),
  })
  const { manifest } = await readRunOf(path.join(dir, 'l'))
  t.match(manifest.data.problems, [{ kind: /needs 384 positions of the window's 128/, places: [/^full-context/] }])
  t.same(manifest.subject.settings.length, 1)
  const still = { ...client, manifest: { ...client.manifest, rotary: { by_length: true as const } } }
  const { settings, problems } = await lm.prepare(taskOptions(lm, { ...full, methods: 'cepe,streaming', windows: '1' }), still)
  t.equal(settings.length, 1)
  t.match(problems, [{ kind: /shifts cached keys/, places: [/^streaming/] }])
  await t.rejects(lm.prepare(taskOptions(lm, { ...full, methods: 'streaming' }), still), {
    code: 'options_invalid',
    message: /^No setting can be asked: streaming.*shifts cached keys/,
  })
})

await t.test("the user's own labelled file; its mistakes are named", async (t) => {
  const client = await clientOf(t, 'cepe-tiny-gqa')
  const dir = await folder(t)
  const csv = (name: string, rows: string[]) =>
    writeFile(path.join(dir, name), ['text,label', ...rows].join('\n')).then(() => path.join(dir, name))
  const train = await csv('train.csv', ['w5 w6,good_one', 'w7 w8,bad', 'w9 w10,good_one', 'w11 w12,bad'])
  const test = await csv('test.csv', ['w13 w14,good_one', 'w15,unknown', 'w5 w6,bad', ',bad'])
  const given = { test, train, textField: 'text', labelField: 'label', decoderShots: '1', encoderShots: '0,2', oracle: '0', seeds: '1' }
  await runTask({ task: icl, options: taskOptions(icl, given), client, folder: path.join(dir, 'run') })
  const { records, manifest } = await readRunOf(path.join(dir, 'run'))
  t.equal(records.length, 2)
  t.same(new Set(records.flatMap(({ results }) => results.map(({ expected }) => expected?.[0]))), new Set(['good one', 'bad']))
  const again = await runTask({ task: icl, options: taskOptions(icl, given), client, folder: path.join(dir, 'again'), dumpPrompts: true })
  const repeated = await readRunOf(again)
  t.equal(repeated.manifest.subject.dump_prompts, true)
  const untimed = (stored: typeof repeated) =>
    stored.records.flatMap(({ id, results }) => results.map(({ ms: _, prompts: __, ...result }) => ({ id, ...result })))
  t.same(untimed(repeated), untimed({ ...repeated, records }), 'the same prompts, demonstrations and scores')
  const shown = repeated.records.flatMap(({ results }) => results).find(({ prompts }) => prompts?.encoder.length === 2)
  t.match(shown?.prompt_sha256, /^[0-9a-f]{64}$/)
  t.equal(shown?.demonstrations?.length, 3)
  t.ok(shown?.demonstrations?.every((id) => /^line \d+$/.test(id)))
  t.ok(
    shown?.prompts?.encoder.every((text) => / w\d+ /.test(` ${text} `)),
    'contexts as text',
  )
  t.equal(
    new Set(repeated.records.flatMap(({ results }) => results.map((result) => result.prompt_sha256))).size,
    4,
    'settings are told apart',
  )
  t.same(manifest.data.problems.map(({ kind }) => kind).sort(), [
    'label that the training file does not have',
    'no text',
    'training example that is a test item',
  ])
  await t.rejects(icl.prepare(taskOptions(icl, { ...given, labelField: 'class' }), client), {
    code: 'dataset_invalid',
    message: /its fields: text, label/,
  })
  await t.rejects(icl.prepare(taskOptions(icl, { ...given, test: path.join(dir, 'none.csv') }), client), {
    code: 'dataset_invalid',
    message: /none\.csv cannot be read/,
  })
})

t.test('generated cases are named by their seed', (t) => {
  t.equal(taskOptions(lines, {}, true).integers('tokens').length, 4)
  t.throws(() => taskOptions(lines, { lines: '5,x' }).integers('lines', 1), {
    code: 'options_invalid',
    message: /--lines takes whole numbers from 1/,
  })
  t.end()
})
