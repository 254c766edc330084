import { readFile, symlink, writeFile } from 'node:fs/promises'
import path from 'node:path'
import t, { type Test } from 'tap'
import { costGate, describeCost, type Cost } from '../../eval/run/follow.ts'
import { runItems } from '../../eval/run/items.ts'
import { readStored } from '../../eval/run/folder.ts'
import { TASK_RUNS, type TaskManifest, type TaskRecord } from '../../eval/run/record.ts'

const manifest: TaskManifest = {
  task: 'lines',
  subject: { version: 2, options: {}, settings: ['one'], files: [], reader: 'a reader' },
  model: { layers: 1, kv_heads: 1, head_dim: 2, encoder_hidden_size: 1, window: 8 },
  data: { items: 40, problems: [] },
  environment: { client: 'a test', version: '0', node: 'v20', platform: 'linux', cpu: 'any', cores: 1, memory_gb: 1 },
  started_at: '2026-11-22T00:00:00.000Z',
  resumed: [],
}
const items = Array.from({ length: 40 }, (_, i) => ({ id: `item ${i}` }))

function recordOf(id: string): TaskRecord {
  return {
    id,
    groups: {},
    results: [{ setting: 'one', scores: { accuracy: 1 }, prompt_sha256: '0', tokens: { decoder: 1, encoder: 0, generated: 1 }, ms: 1 }],
  }
}

function run(folder: string, ask: (id: string) => Promise<void> = () => Promise.resolve()) {
  return runItems({
    folder,
    format: TASK_RUNS,
    manifest,
    items,
    what: 'items',
    concurrency: 1,
    ask: async ({ id }) => {
      await ask(id)
      return recordOf(id)
    },
    onProgress: () => undefined,
  })
}

function folderOf(t: Test): string {
  return path.join(t.testdir({}), 'run')
}

await t.test('a folder is written by one evaluation at a time', async (t) => {
  const folder = folderOf(t)
  let second: Promise<unknown> | undefined
  const records = await run(folder, async (id) => {
    if (id !== 'item 20') return
    second = run(folder)
    await t.rejects(second, { code: 'conflict', message: /^Another evaluation is writing into .*--out/ })
  })
  t.equal(records.length, items.length)
  const kept = await readStored(folder, TASK_RUNS)
  t.same(
    kept.records.map(({ id }) => id),
    items.map(({ id }) => id),
    'nothing of the first was cut off',
  )
  t.equal(kept.manifest.resumed.length, 0, 'nor is it said to be gone on with')
  t.equal((await run(folder)).length, items.length, 'free again afterwards')
})

await t.test('records are read in the order of their items, whatever order they ended in', async (t) => {
  const folder = folderOf(t)
  const stopped = run(folder, (id) => (id === 'item 3' ? Promise.reject(new Error('stopped')) : Promise.resolve()))
  await t.rejects(stopped, { message: 'stopped' })
  const file = path.join(folder, 'predictions.jsonl')
  const lines = (await readFile(file, 'utf8')).trimEnd().split('\n')
  await writeFile(file, `${lines.toReversed().join('\n')}\n`)
  await run(folder)
  const read = (await readStored(folder, TASK_RUNS)).records.map(({ id }) => id)
  t.same(
    read,
    items.map(({ id }) => id),
    'item 2 before item 10',
  )
})

await t.test('a run that stops leaves its folder free', async (t) => {
  const folder = folderOf(t)
  const stopped = run(folder, (id) => (id === 'item 5' ? Promise.reject(new Error('stopped')) : Promise.resolve()))
  await t.rejects(stopped, { message: 'stopped' })
  t.equal((await readStored(folder, TASK_RUNS)).records.length, 5)
  t.equal((await run(folder)).length, items.length)
})

await t.test('a damaged manifest is named, and taken for that of no other task', async (t) => {
  const folder = folderOf(t)
  await run(folder)
  const file = path.join(folder, 'manifest.json')
  const whole = await readFile(file, 'utf8')
  await writeFile(file, whole.slice(0, 50))
  await t.rejects(run(folder), { code: 'run_invalid', message: /manifest\.json is not valid JSON/ })
  await writeFile(file, whole.replace('a reader', 'a seader'))
  const message = `${file} is damaged: its values are not those of its SHA-256: choose another folder with --out, or put the copy of the file back.`
  await t.rejects(run(folder), { code: 'run_invalid', message })
})

await t.test('a damaged answer is named with what helps, and is counted in no report', async (t) => {
  const folder = folderOf(t)
  await run(folder)
  const file = path.join(folder, 'predictions.jsonl')
  const whole = await readFile(file, 'utf8')
  const remedy = ': remove the line and repeat the command, which asks its question again.'
  const altered = `${file} line 8 is damaged: its values are not those of its SHA-256${remedy}`
  const sha256 = /,"sha256":"\w+"/g
  for (const [from, to, message, text = whole] of [
    ['{"id":"item 7"', '["id":"item 7"', `${file} line 8 is not valid JSON${remedy}`],
    ['"id":"item 7"', '"id":"item 3"', altered],
    [/(item 7.*)"accuracy":1/, '$1"accuracy":0', altered],
    [
      '"id":"item 7"',
      '"ie":"item 7"',
      `${file} line 8 is damaged or of another version ( must have required properties id)${remedy}`,
      whole.replace(sha256, ''),
    ],
    [
      '"id":"item 7"',
      '"id":"item x"',
      `${folder} has an answer to "item x", which is none of its items${remedy}`,
      whole.replace(sha256, ''),
    ],
  ] as const) {
    await writeFile(file, text.replace(from, to))
    await t.rejects(run(folder), { code: 'run_invalid', message })
    await writeFile(file, whole.replace(/^.*item 7".*\n/m, ''))
    const asked: string[] = []
    t.equal((await run(folder, (id) => Promise.resolve(void asked.push(id)))).length, items.length)
    t.same(asked, ['item 7'], 'after the remedy it alone is asked')
  }
  await writeFile(file, whole.replace(sha256, ''))
  t.equal((await run(folder, () => Promise.reject(new Error('asked')))).length, items.length, 'answers of earlier software have no digest')
})

await t.test('the cost of a run of which less is left than is asked at once is that of what is left', async (t) => {
  const folder = folderOf(t)
  await run(folder)
  const file = path.join(folder, 'predictions.jsonl')
  await writeFile(file, (await readFile(file, 'utf8')).replace(/^.*item 7".*\n/m, ''))
  const costs: Cost[] = []
  const ask = ({ id }: { id: string }) => Promise.resolve(recordOf(id))
  const onProgress = () => undefined
  const onCost = (cost: Cost) => void costs.push(cost)
  await runItems({ folder, format: TASK_RUNS, manifest, items, what: 'items', concurrency: 4, ask, onProgress, onCost })
  t.match(costs, [{ items: 1 }])
})

await t.test('a file is no folder', async (t) => {
  const file = path.join(t.testdir({ notes: 'mine' }), 'notes')
  await t.rejects(run(file), { code: 'options_invalid', message: /notes is a file.*--out/ })
  await t.rejects(run(path.join(file, 'deeper')), { code: 'options_invalid' })
  t.equal(await readFile(file, 'utf8'), 'mine')
})

await t.test('a full disk is named with what helps', { skip: process.platform !== 'linux' && 'needs /dev/full' }, async (t) => {
  const folder = path.join(t.testdir({ run: {} }), 'run')
  await symlink('/dev/full', path.join(folder, 'predictions.jsonl'))
  let asked = 0
  const full = run(folder, () => Promise.resolve(void asked++))
  await t.rejects(full, { code: 'disk_full', message: /is full\. Earlier results are kept: free space, then repeat/ })
  t.ok(asked < items.length, 'nothing more is asked once nothing can be kept')
  t.match(JSON.parse(await readFile(path.join(folder, 'manifest.json'), 'utf8')), { task: 'lines' })
})

const HOUR = 3_600_000
const cost = (ms: number): Cost => ({ what: 'questions', items: 100, settings: 3, tokens: 720, ms })

await t.test('cost: items x settings, tokens and time; runs that take more than a day together need --yes', (t) => {
  t.equal(
    describeCost(cost(2 * HOUR)),
    '100 questions x 3 settings = 300 answers, 720 tokens per item, 72000 in all: about 2.0 h at 10 tokens/s (measured on the first)',
  )
  const gate = costGate({})
  gate(cost(23 * HOUR))
  t.throws(() => gate(cost(2 * HOUR)), { code: 'options_invalid', message: /about 25\.0 h, more than a day: confirm with --yes/ })
  const confirmed = costGate({ yes: true })
  t.doesNotThrow(() => confirmed(cost(400 * HOUR)))
  t.end()
})

await t.test('the cost is measured on the first items: an error of it keeps them and asks no other; a plan keeps nothing', async (t) => {
  const folder = folderOf(t)
  const asked: string[] = []
  const costs: Cost[] = []
  const base = {
    folder,
    format: TASK_RUNS,
    manifest,
    items,
    what: 'items',
    settings: 2,
    tokensOf: () => 8,
    concurrency: 4,
    ask: ({ id }: { id: string }) => Promise.resolve(recordOf((asked.push(id), id))),
    onProgress: () => undefined,
  }
  t.same(await runItems({ ...base, planOnly: true, onCost: (cost) => void costs.push(cost) }), [])
  t.match(costs, [{ what: 'items', items: 40, settings: 2, tokens: 8 }])
  t.equal(asked.length, 4)
  await t.rejects(readFile(path.join(folder, 'manifest.json')), { code: 'ENOENT' })
  const refuse = () => {
    throw new Error('too long')
  }
  await t.rejects(runItems({ ...base, onCost: refuse }), { message: /too long/ })
  t.equal((await readStored(folder, TASK_RUNS)).records.length, 4)
  const late: Cost[] = []
  const tooLong = { code: 'unprocessable', message: 'too long', setting: null, retry: false }
  const skipsFirst = ({ id }: { id: string }) =>
    Promise.resolve(id === 'item 4' ? { ...recordOf(id), results: [], skipped: tooLong } : recordOf(id))
  await runItems({ ...base, concurrency: 1, planOnly: true, ask: skipsFirst, onCost: (cost) => void late.push(cost) })
  t.match(late, [{ items: 35 }], 'the cost is not that of a skipped item')
  const seen: [number, number, string][] = []
  await runItems({ ...base, onCost: (cost) => void costs.push(cost), onProgress: (...progress) => void seen.push(progress) })
  t.equal(costs.at(-1)?.items, 36, 'a resumed run costs what is left')
  t.same(
    [seen[0], seen.at(-1)],
    [
      [8, 80, ''],
      [80, 80, ''],
    ],
  )
  t.match(seen[1]?.[2], /^about \d+ s left$/)
})
