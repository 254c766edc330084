import t from 'tap'
import { once } from 'node:events'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { takeLock } from '../../base/locks/lock.ts'
import { CLI, finished, startNode } from '../../eval/bench/processes.ts'
import { runCli } from '../helpers/cli.ts'
import { tinyShared } from '../helpers/service-settings.ts'
import { tempDir } from '../index/helpers.ts'

await t.test('a corpus in several files: checked, indexed, listed by source, exported, deleted, tidied', async (t) => {
  const dir = await tempDir(t)
  const env = tinyShared(dir)
  const corpus = path.join(dir, 'corpus')
  await mkdir(path.join(corpus, 'more'), { recursive: true })
  await writeFile(path.join(corpus, 'a.csv'), 'id,text\n1,"Canberra, the capital"\n2,The Orinoco\nbad\n')
  await writeFile(path.join(corpus, 'more', 'b.json'), '[{"id": 3, "title": 1984, "text": "A novel"}]')
  await writeFile(path.join(corpus, 'notes.rst'), 'no corpus')
  const index = (...args: string[]) => runCli(['index', ...args], env)

  const checked = await index('add', corpus, '--check')
  t.equal(checked.code, 1, checked.stderr)
  t.match(
    checked.stdout,
    /line 4: missing_column: .*\n.*a\.csv: 3 lines, 1 rejected, 2 passages, .*a job would fail\n.*b\.json: 1 lines, .*fit to index/,
  )
  t.match((await index('status')).stdout, /There is no table/, 'checking writes nothing')

  t.match(await index('add', corpus, '--replace'), { code: 1, stderr: /--replace takes one file/ })
  const added = await index('add', corpus, '--max-rejected', '0.5')
  t.equal(added.code, 0, added.stderr)
  t.match(
    added.stdout,
    /done {2}a\.csv {2}2\/2 committed.*1 rejected.*\n.*done {2}b\.json.*\n2 files indexed; 1 left out: 1 \.rst \(not supported\)\n$/,
  )
  t.match(added.stderr, /^(Indexing (a\.csv|b\.json): \d|(a\.csv|b\.json): [a-z ]+: \d+\/100 %)/m, 'progress off a terminal')
  const [job = ''] = added.stdout.split(' ')
  t.match(JSON.parse((await index('report', job)).stdout), { line: 4, reason: 'missing_column' })

  t.equal((await index('sources')).stdout, '2\ta.csv\n1\tb.json\n')
  const exported = (await index('export', '--source', 'b.json')).stdout
  t.same(JSON.parse(exported), { id: '3', title: '1984', text: 'A novel', source: 'b.json' })
  t.match(await index('snapshot', 'create', 'whole'), { code: 0, stdout: 'whole: snapshot of 3 passages created\n' })
  t.match(await index('delete', '--source', ''), { code: 1, stderr: /--source is empty/ })
  t.equal((await index('delete', '--source', 'a.csv')).stdout, '2 passages deleted\n')
  t.equal((await index('sources')).stdout, '1\tb.json\n')
  t.match((await index('snapshot', 'list')).stdout, /^whole\t\S+\t3 passages\t\d+ kB of its own\tcontriever@/)
  t.match(await index('alias', 'passages', '--table', 'other'), { code: 0, stdout: 'other: 1 passages, as in passages\n' })
  t.match(await index('snapshot', 'restore', 'whole'), { code: 0, stdout: 'passages: 3 passages, restored from whole\n' })
  t.equal((await index('sources')).stdout, '2\ta.csv\n1\tb.json\n')
  t.match(await index('snapshot', 'delete', 'whole'), { code: 0 })
  t.match((await index('compact', '--dry-run')).stdout, /^passages: \d+ fragments .* kB on the disk\nreplaced tables: 1, /)
  t.match((await index('cleanup')).stdout, /\nnow: \d+ fragments/)
})

await t.test('the recall of a vector index is shown, with that of questions', async (t) => {
  const dir = await tempDir(t)
  const env = { ...tinyShared(dir), CEPE_EXACT_BELOW: '300', CEPE_MIN_RECALL: '0.5' }
  const rows = (await readFile('index/corpus/passages.tsv', 'utf8')).split('\n').slice(0, 401)
  const corpus = path.join(dir, 'part.tsv')
  await writeFile(corpus, rows.join('\n'))
  const added = await runCli(['index', 'add', corpus], env)
  t.equal(added.code, 0, added.stderr)
  t.match(
    (await runCli(['index', 'status'], env)).stdout,
    /400 passages, .*ivf_rq search \(recall@10 [01]\.\d{3}, of questions [01]\.\d{3}\)/,
  )
})

await t.test('a command that waits for another process says for whom', async (t) => {
  const dir = await tempDir(t)
  const env = tinyShared(dir)
  const corpus = path.join(dir, 'a.csv')
  await writeFile(corpus, 'id,text\n1,"Canberra, the capital"\n')
  t.match(await runCli(['index', 'add', corpus], env), { code: 0 })
  const lock = await takeLock(path.join(env.CEPE_INDEX_DIR, 'passages.upkeep'), 0)
  const child = startNode(CLI, ['index', 'compact'], { env })
  const ended = finished(child)
  if (child.stderr !== null) await once(child.stderr, 'data')
  await lock?.release()
  t.match(await ended, {
    code: 0,
    stdout: /\nnow: /,
    stderr: new RegExp(`^cepe: waiting for a lock held by process ${process.pid}: .*passages\\.upkeep\n$`),
  })
})

await t.test('of several files each problem is said with its file, and what was not begun; a blank question is none', async (t) => {
  const dir = await tempDir(t)
  const env = tinyShared(dir)
  const file = (name: string): string => path.join(dir, 'corpus', name)
  await mkdir(path.join(dir, 'corpus'))
  await writeFile(file('a.tsv'), '')
  await writeFile(file('b.tsv'), 'id\ttext\ttitle\n1\tThe Orinoco\tA river\n')
  const checked = await runCli(['index', 'add', path.join(dir, 'corpus'), '--check'], env)
  t.match(checked, { code: 1, stdout: /a\.tsv: The file is empty.*a job would fail\n.*b\.tsv: 1 lines.*fit to index\n/ })
  const added = await runCli(['index', 'add', path.join(dir, 'corpus')], env)
  t.match(added, { code: 1, stderr: /Not started: .*b\.tsv\n.*\(a\.tsv\) has failed: The file is empty/ })
  t.match(await runCli(['index', 'status', 'nope'], env), { code: 1, stderr: /cepe index status/ })
  t.match(await runCli(['ask', ' '], env), { code: 1, stderr: /question must not be blank/ })
})
