import { existsSync } from 'node:fs'
import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import t, { type Test } from 'tap'
import { built, finished, startNode } from '../helpers/processes.ts'
import { servicesClient } from '../../eval/client/in-process.ts'
import { cellName, cellsOf, cellsOfModel, modelFolder, publishedScore } from '../../eval/presets/cells.ts'
import { OPEN_DOMAIN_QA } from '../../eval/run/folder.ts'
import { chooseModel, type Paper, type Preset, readPreset } from '../../eval/presets/read.ts'
import { runCells } from '../../eval/presets/run.ts'
import { presetReport, readScores } from '../../eval/presets/report.ts'
import { toMarkdown } from '../../eval/report/blocks.ts'
import { readPublishedTables } from '../../eval/report/published-tables.ts'
import { TASKS } from '../../eval/tasks/runs.ts'
import { builtFixture } from '../fixtures/built-fixture.ts'
import { factServices } from '../helpers/fact-services.ts'
import { SKIPS } from '../helpers/skips.ts'

const CLI = built('eval/cli.js')
const GIRAFFE = '../shared/data/published/giraffe-tables.json'
const QA_OPTIONS = ['modes', 'k', 'protocol', 'seed', 'limit', 'questions', 'train']

async function folder(t: Test): Promise<string> {
  const dir = await mkdtemp(path.join(tmpdir(), 'cepe-presets-'))
  t.teardown(() => rm(dir, { recursive: true }))
  return dir
}

const PRESETS: Readonly<Record<Paper, readonly string[]>> = {
  cepe: ['1', '2', '3', '4', '6', '7', '8', '11', '12', '13'],
  giraffe: ['1', '2', '3', '4', '5', '6', '7', '8', '9'],
  pi: ['1', '2', '3', '4', '5', '6'],
}

function presetsOf(paper: Paper): Preset[] {
  return PRESETS[paper].map((table) => readPreset(paper, table))
}

await t.test('presets: which tables there are, and why not the others', (t) => {
  for (const paper of ['cepe', 'giraffe', 'pi'] as const)
    t.throws(() => readPreset(paper, '0'), { message: new RegExp(` has the tables ${PRESETS[paper].join(', ')}, not "0"`) })
  t.throws(() => readPreset('cepe', '5'), { code: 'options_invalid', message: /averages Tables 11 and 12/ })
  t.throws(() => readPreset('cepe', '../1'), { code: 'options_invalid', message: /CEPE has the tables 1, 2, 3/ })
  t.throws(() => readPreset('giraffe', '10'), { code: 'options_invalid', message: /Giraffe has the tables 1, 2, 3, 4, 5, 6, 7, 8, 9,/ })
  t.end()
})

for (const paper of ['cepe', 'giraffe', 'pi'] as const)
  await t.test(`${paper}: rows, columns, options, files and scores of every preset are known`, (t) => {
    const { tables } = readPublishedTables(paper)
    for (const preset of presetsOf(paper)) {
      const named = `Table ${preset.table}`
      const task = TASKS.find(({ name }) => name === preset.task)
      const known = task?.options.map(({ flags }) => /--([\w-]+)/.exec(flags)?.[1] ?? '') ?? QA_OPTIONS
      if (task === undefined) t.equal(preset.task, OPEN_DOMAIN_QA)
      const models = preset.models.map(({ name }) => name)
      const files = new Set<string>()
      for (const cell of cellsOf(preset, { limit: '1' })) {
        const wanted = [...Object.keys(cell.options), ...Object.keys(cell.files)]
        t.same(
          wanted.filter((option) => !known.includes(option)),
          [],
          `${named}: options of ${cellName(cell)}`,
        )
        t.same(
          cell.row.models.filter((model) => !models.includes(model)),
          [],
          `${named}: models of ${cellName(cell)}`,
        )
        t.ok(
          task === undefined || [...task.metrics, ...(task.derived ?? [])].some(({ name }) => name === cell.metric),
          `${named}: score of ${cellName(cell)}`,
        )
        Object.values(cell.files).forEach((file) => files.add(file))
      }
      t.same([...files].sort(), Object.keys(preset.files).sort(), `${named}: every file is described, and used`)
      const names = cellsOf(preset).map(cellName)
      t.equal(new Set(names).size, names.length, `${named}: cells have names of their own`)
    }
    for (const [table, { rows }] of Object.entries(tables)) {
      // Table 5 has no preset, Table 8 is laid out by data set.
      if (paper === 'cepe' && ['5', '8'].includes(table)) continue
      const preset = readPreset(paper, table)
      const matches = rows.map(
        (row) => preset.rows.filter(({ label }) => Object.entries(label).every(([field, value]) => row[field] === value)).length,
      )
      t.ok(
        matches.every((count) => count === 1),
        `Table ${table}: one row of the preset for each published one (${matches.join(' ')})`,
      )
      for (const { name } of preset.columns)
        t.ok(
          rows.every((row) => name in row),
          `Table ${table}: ${name} is published`,
        )
    }
    t.end()
  })

/** Cells as the paper prints them, by table, row label and column; accuracies are printed as shares and reported in percent. */
const GIRAFFE_CELLS: readonly (readonly [table: string, label: Readonly<Record<string, unknown>>, column: string, score: string])[] = [
  ['1', { model: 'power basis' }, '2500', '96'],
  ['1', { model: 'linear scale 16' }, '16000', '10'],
  ['1', { model: 'linear scale 4' }, '7100', '36'],
  ['2', { model: 'truncated basis' }, '2000', '74'],
  ['2', { model: 'linear scale 16' }, '32000', '18'],
  ['3', { model: 'truncated basis' }, '3800', '55'],
  ['3', { model: 'linear scale 4' }, '1900', '44'],
  ['4', { basis: 'linear', trained_at: 4, evaluated_at: 8 }, '11800', '30'],
  ['4', { basis: 'truncated', trained_at: 1, evaluated_at: 2 }, '2500', '58'],
  ['5', { model: 'LLaMA base' }, '4k', '9022'],
  ['5', { model: 'linear scale 16' }, '24k', '8.73'],
  ['5', { model: 'truncated basis' }, '512', '3.79'],
  ['6', { place: 'answer end' }, '24000', '50'],
  ['6', { place: 'question start' }, '24000', '14'],
  ['7', { place: 'question end' }, '15000', '48'],
  ['7', { place: 'answer middle' }, '32000', '11'],
  ['8', { model: 'LLaMA-2 linear scale 8' }, '4800', '74'],
  ['8', { model: 'LLaMA-2 linear scale 8' }, '30000', '0'],
  ['9', { data: 'AltQA' }, '4k', '76'],
  ['9', { data: 'FFQA' }, '32k', '10'],
]

await t.test("Giraffe's tables are numbered as in its paper, with its scores; the README's stand in rows of their own", (t) => {
  const { tables, doubtful } = readPublishedTables('giraffe')
  for (const [table, label, column, score] of GIRAFFE_CELLS) {
    const { rows } = readPreset('giraffe', table)
    const row = rows.find(({ label: own }) => Object.entries(label).every(([field, value]) => own[field] === value))
    t.ok(row, `Table ${table}: ${JSON.stringify(label)}`)
    if (row) t.equal(publishedScore(tables[table]?.rows ?? [], row, column), score, `Table ${table}: ${JSON.stringify(label)} at ${column}`)
  }
  t.match(readPreset('giraffe', '5'), { columns: { 6: { name: '24k', options: { 'decoder-tokens': '24576' } } } })
  for (const table of ['1', '4']) t.ok(doubtful.some((entry) => entry.table === table && /other values in all five/.test(entry.why)))
  const readme = readPreset('giraffe', '3').rows.filter(({ label }) => String(label['model']).startsWith('README'))
  t.same(
    readme.map(({ published }) => published?.['1900']),
    ['32.33', '22.17'],
  )
  t.notMatch(JSON.stringify(tables), /32\.33|72\.81/)
  t.end()
})

await t.test(
  "every cell of Giraffe's tables is as transcribed from the paper",
  { skip: !existsSync(GIRAFFE) && SKIPS.shared },
  async (t) => {
    const transcribed = JSON.parse(await readFile(GIRAFFE, 'utf8')) as {
      tables: Record<string, { row_key: string; columns: string[]; rows: Record<string, number | string>[] }>
    }
    const { tables } = readPublishedTables('giraffe')
    for (const [number, { row_key: key, columns, rows }] of Object.entries(transcribed.tables)) {
      t.equal(tables[number]?.rows.length, columns.length, `Table ${number}`)
      columns.forEach((column, i) => {
        const wanted = rows.map((row) => [String(row[key]), number === '5' ? row[column] : Math.round(100 * Number(row[column]))])
        t.match(tables[number]?.rows[i], Object.fromEntries(wanted), `Table ${number}: ${column}`)
      })
    }
  },
)

await t.test('Table 3 scores each data set as Table 8 says; Table 7 asks every model at its own k', (t) => {
  const { tables } = readPublishedTables()
  const table3 = readPreset('cepe', '3')
  const table8 = readPreset('cepe', '8')
  for (const { dataset, length_normalised: normalised, calibrated } of tables['8']?.rows ?? []) {
    const score = `${calibrated === true ? 'calibrated' : ''}${calibrated === true && normalised === true ? '_' : ''}${normalised === true ? 'mean' : ''}`
    const wanted = score === '' ? 'sum' : score
    t.equal(table3.columns.find(({ name }) => name === dataset)?.metric, wanted, String(dataset))
    t.equal(table8.rows.find(({ published }) => published?.[String(dataset)] === 'chosen')?.metric, wanted)
  }
  const ks = new Map<string, string[]>()
  for (const { label, options } of readPreset('cepe', '7').rows)
    ks.set(String(label['model']), [...(ks.get(String(label['model'])) ?? []), options?.['k'] ?? ''])
  t.same(Object.fromEntries(ks), {
    'LLaMA-2': ['1', '5', '10', '15', '20'],
    'LLaMA-2-32K': ['10', '15', '20', '30', '60'],
    RePlug: ['5', '10', '15', '20', '30'],
    CEPE: ['10', '15', '20', '30', '60'],
  })
  t.end()
})

await t.test('a measured score stands in the rows of the model that it was asked for: every table', (t) => {
  for (const paper of ['cepe', 'giraffe', 'pi'] as const) {
    for (const table of PRESETS[paper]) {
      const preset = readPreset(paper, table)
      const cells = cellsOf(preset)
      const names = preset.models.map(({ name }) => name)
      t.equal(new Set(names.map((name) => modelFolder('out', name))).size, names.length, `${paper} ${table}: a folder per model`)
      for (const { row } of cells) t.ok(row.models.every((name) => names.includes(name)))
      for (const name of names) t.ok(cellsOfModel(cells, name).every(({ row }) => row.models.includes(name)))
    }
  }
  const shared = cellsOf(readPreset('cepe', '12')).filter(({ column }) => column.name === 'ArXiv')
  t.ok(new Set(shared.map(({ run }) => run)).size < shared.length, 'ablations share their options, and so the names of their runs')
  t.end()
})

await t.test('what a table leaves open stays open: no bound of perplexity in other columns', (t) => {
  const preset = readPreset('cepe', '1')
  const none = {
    cells: [],
    readers: [],
    notAsked: new Map<string, string>(),
  }
  const line = toMarkdown(presetReport(preset, none).blocks)
    .split('\n')
    .find((text) => /^\| 8192 \| LLaMA-2 \| published/.test(text))
  t.equal(line, '| 8192 | LLaMA-2 | published | > 1000 | > 1000 | > 1000 | > 1000 | > 1000 | - | - |')
  t.end()
})

await t.test('the model of a table: by its checkpoint, as told, or by what it is', (t) => {
  const preset = readPreset('cepe', '1')
  const chosen = (id: string, hasEncoder: boolean, as?: string) => chooseModel(preset, { id, hasEncoder }, as).name
  t.equal(chosen('LLaMA-2-7B-32K@abc-int8-1', false), 'LLaMA-2-32K')
  t.equal(chosen('mine@abc-int8-1', true), 'CEPE')
  t.equal(chosen('mine@abc-int8-1', false), 'LLaMA-2')
  t.equal(chosen('mine@abc-int8-1', false, 'YaRN-64K'), 'YaRN-64K')
  t.throws(() => chosen('mine@abc', false, 'GPT'), { code: 'options_invalid', message: /--as takes "CEPE", "LLaMA-2"/ })
  const ablations = readPreset('cepe', '11')
  t.throws(() => chooseModel(ablations, { id: 'mine@abc', hasEncoder: false }), {
    code: 'options_invalid',
    message: /no encoder: name the represented model with --as/,
  })
  t.end()
})

const labelled = (from: number, field: string) =>
  Array.from({ length: 12 }, (_, i) => `${JSON.stringify({ [field]: `w${from + i} w${from + i + 1}`, label: i % 2 })}\n`).join('')

await t.test('cepe eval table 3: runs, published scores and footnotes in one report; what is missing is named', async (t) => {
  const dir = await folder(t)
  const data = path.join(dir, 'data')
  const out = path.join(dir, 'out')
  const env = { CEPE_READER_DIR: await builtFixture(t, 'cepe-tiny-gqa'), CEPE_READER_CHECKPOINT: '' }
  const evaluated = (...args: string[]) => finished(startNode(CLI, ['table', '3', '--limit', '3', '--out', out, ...args], { env }))

  const without = await evaluated('--columns', 'MR,AGNews')
  t.equal(without.code, 1)
  t.match(without.stderr, /--data is missing: the folder of the data files.*[^]*- mr-train: .*Hugging Face, rotten_tomatoes, split train/)
  t.match((await evaluated('--columns', 'MR,SST-2', '--data', dir)).stderr, /--columns takes SST2, MR, .*not "SST-2"/)

  await mkdir(data)
  await writeFile(path.join(data, 'mr-train.jsonl'), labelled(5, 'text'))
  await writeFile(path.join(data, 'mr-test.json'), `[${labelled(40, 'text').trim().split('\n').join(',')}]`)
  await copyFile('test/fixtures/datasets/classes.parquet', path.join(data, 'banking77-train.parquet'))
  await writeFile(path.join(data, 'banking77-test.csv'), 'text,label\nw30 w31,card_lost\nw32 w33,1\nw34,7\n')
  const first = await evaluated('--columns', 'MR,BANKING,AGNews', '--data', data)
  t.equal(first.code, 0, first.stderr)
  t.match(first.stderr, /Missing ag-news-train: .*Hugging Face, ag_news, split train/)
  t.match(first.stderr, /BANKING: 1 x label that is none of the 2 classes \(line 4\), skipped/)
  const tableOf = (stdout: string) => stdout.split('\n').filter((line) => line.startsWith('| '))
  const rowOf = (stdout: string, start: RegExp) => tableOf(stdout).find((line) => start.test(line)) ?? ''
  t.match(rowOf(first.stdout, /^\| CEPE \| 2 \| 18 \| published/), /\| 90\.7 \| 98\.4 \| 71\.9 \|/)
  const measured = rowOf(first.stdout, /^\| CEPE \| 2 \| 18 \| \w+@/)
  t.match(measured, /\| - \| \d+\.\d \(\d+\.\d, \d+\.\d\) \| - \|/, 'SST2 was not asked, MR was, AGNews has no files')
  t.match(rowOf(first.stdout, /^\| LLaMA-2 \| 2 \| 0 \| \w+@/), /\d+\.\d \(/, "LLaMA-2's row is asked of the frozen decoder")
  t.match(first.stdout, /Footnote, LLaMA-2, 2 demonstrations, SST5 3\.9: below chance/)
  t.match(first.stdout, /## Not asked\n\n(- .*\n)*- CEPE, 2, 18: AGNews: ag-news-train, ag-news-test is not among the data files/)
  t.match(first.stdout, /- LLaMA-2, 40, 0: MR: /, 'forty demonstrations are more than the window holds')

  const again = await evaluated('--columns', 'MR,BANKING,AGNews', '--data', data)
  t.same(tableOf(again.stdout), tableOf(first.stdout), 'repeated, the command asks nothing anew')
  const wrong = await finished(startNode(CLI, ['table', '3', '--k', '5'], { env }))
  t.match(wrong.stderr, /unknown option '--k'/)
  const alone = await finished(startNode(CLI, ['--dataset', 'q.jsonl', '--columns', 'MR'], { env }))
  t.match(alone.stderr, /unknown option '--columns'/)
  const plan = await evaluated('--plan', '--data', data)
  t.match(plan.stdout, /\| mr-train \| mr-train\.jsonl \|.*\n\| mr-test \| mr-test\.json \|/)
})

await t.test("Position Interpolation's tables: runs of a model of any name, with what the paper's prose says", async (t) => {
  const dir = await folder(t)
  const env = { CEPE_READER_DIR: await builtFixture(t, 'cepe-tiny-gqa'), CEPE_READER_CHECKPOINT: '' }
  const data = path.join(dir, 'data')
  await mkdir(data)
  const words = (count: number, from: number) => Array.from({ length: count }, (_, i) => `w${3 + ((from + i) % 40)}`).join(' ')
  await writeFile(path.join(data, 'piqa-validation.jsonl'), `${JSON.stringify({ goal: 'w3 w4', sol1: 'w5', sol2: 'w6 w7', label: 1 })}\n`)
  const report = { id: 'a', input: words(60, 0), output: words(10, 5) }
  await writeFile(path.join(data, 'gov-report-validation.jsonl'), `${JSON.stringify(report)}\n`)
  const run = (...args: string[]) =>
    finished(startNode(CLI, [...args, '--data', data, '--out', path.join(dir, 'out', args[1] ?? '')], { env }))

  const benchmarks = await run('pi', '5', '--columns', 'PIQA,BoolQ')
  t.equal(benchmarks.code, 0, benchmarks.stderr)
  t.match(benchmarks.stdout, /\| any model \| \w+@\S+ \| - \| (0\.0 \(0\.0, 79\.3\)|100\.0 \(20\.7, 100\.0\)) \| - \| - \| - \|/)
  t.match(benchmarks.stdout, /Footnote, extended to 8192: the text says that the largest loss is 2 %/)
  t.match(benchmarks.stdout, /BoolQ: boolq-validation is not among the data files/)

  const plan = await finished(startNode(CLI, ['pi', '1', '--plan'], { env }))
  t.equal(plan.code, 0, plan.stderr)
  t.match(
    plan.stdout,
    /Footnote, LLaMA 7B: the text says that position interpolation changes perplexity by -0\.28 from window 2,048 to 16,384/,
  )
  t.match(plan.stdout, /\| pg19-test \| missing \|/)
})

await t.test('scores by place are of one run: those of the row alone', async (t) => {
  const dir = await folder(t)
  const env = { CEPE_READER_DIR: await builtFixture(t, 'cepe-tiny-gqa'), CEPE_READER_CHECKPOINT: '' }
  await mkdir(path.join(dir, 'data'))
  await copyFile('test/fixtures/datasets/conversations.parquet', path.join(dir, 'data', 'wikiqa-free-form-2k.parquet'))
  const args = ['giraffe', '7', '--columns', '1900', '--data', path.join(dir, 'data'), '--out', path.join(dir, 'out')]
  const plan = await finished(startNode(CLI, [...args, '--plan'], { env }))
  t.equal(plan.code, 0, plan.stderr)
  t.match(plan.stderr, /Cost: 7 items x 1 setting = 7 answers, \d+ tokens per item, \d+ in all: about \d+ s at .* tokens\/s/)
  t.notOk(existsSync(path.join(dir, 'out')), 'a plan keeps nothing')
  const { code, stdout, stderr } = await finished(startNode(CLI, args, { env }))
  t.equal(code, 0, stderr)
  t.match(stderr, /7\/7 answers/)
  t.match(stdout, /\| answer start \| published \| 37 \|.*\n\| answer start \| \w+@\S+ \| 0\.0 \(0\.0, 65\.8\) \|/, 'of two questions')
  t.match(stdout, /\| answer end \| published \| 36 \|.*\n\| answer end \| \w+@\S+ \| 0\.0 \(0\.0, 79\.3\) \|/, 'of one question')
})

await t.test('Table 7: questions with their passages, every model at its own k, in one run a data set', async (t) => {
  const dir = await folder(t)
  const fact = (i: number) => ({
    question: `what is fact ${i}`,
    answer: [`a${i}`],
    ctxs: Array.from({ length: 60 }, (_, c) => ({
      title: `Fact ${(i + c) % 100}`,
      text: `fact ${(i + c) % 100} is a${(i + c) % 100} indeed`,
    })),
  })
  const write = async (name: string, from: number, to: number) => {
    const file = path.join(dir, name)
    await writeFile(file, Array.from({ length: to - from }, (_, i) => `${JSON.stringify(fact(from + i))}\n`).join(''))
    return file
  }
  const files: Record<string, string> = {
    'nq-open-test': await write('test.jsonl', 0, 3),
    'nq-open-train': await write('train.jsonl', 10, 16),
  }
  const { services } = factServices({ window: 3000 })
  const client = servicesClient({ answering: services, close: () => Promise.resolve() })
  const preset = readPreset('cepe', '7')
  const cells = cellsOf(preset, { columns: ['nq', 'triviaqa'], pathOf: (name) => files[name] })
  const options = {
    cells: cellsOfModel(cells, 'CEPE'),
    client,
    folder: path.join(modelFolder(path.join(dir, 'out'), 'CEPE'), 'facts'),
    dumpPrompts: false,
    concurrency: 2,
    preset,
    follow: () => ({}),
  }
  const notAsked = await runCells(options)
  t.same(new Set([...notAsked.values()]), new Set(['triviaqa-validation, triviaqa-train is not among the data files']))
  const readers = await readScores(path.join(dir, 'out'), preset, cells)
  const [reader] = readers
  t.equal(reader?.scores.size, 15, 'LLaMA-2 at 1 to 20, RePlug at 5 to 30, CEPE at 10 to 60')
  t.equal(reader?.scores.get('CEPE, 60: nq')?.estimate.mean, 100)
  const report = toMarkdown(presetReport(preset, { cells, readers, notAsked }).blocks)
  t.match(
    report,
    /\| CEPE \| 60 \| published \| 34\.07 \| 62\.26 \| 34\.98 \|\n\| CEPE \| 60 \| fake@.* \| 100\.00 \(43\.9, 100\.0\)|\| CEPE \| 60 \| fake@[^|]* \| 100\.00 \(/,
  )
  t.match(report, /- fake@[^ ]*: each score is of 3 items\./)
  t.match(report, /\| LLaMA-2-32K \| 60 \| published \| 30\.58 \|/)
  t.notMatch(report, /\| LLaMA-2-32K \| \d+ \| fake@/, 'rows of other models are not filled, although they share runs')
  t.ok(cells.some(({ row, run }) => !row.models.includes('CEPE') && options.cells.some((cell) => cell.run === run)))
})
