import t from 'tap'
import { once } from 'node:events'
import { mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { takeLock } from '../../base/locks/lock.ts'
import { CLI, finished, startNode } from '../helpers/processes.ts'
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
  await writeFile(path.join(corpus, 'notes.mp3'), 'no corpus')
  const index = (...args: string[]) => runCli(['index', ...args], env)

  const checked = await index('add', corpus, '--check')
  t.equal(checked.code, 1, checked.stderr)
  t.match(
    checked.stdout,
    /line 4: missing_column: .*\n.*a\.csv: 3 lines, 1 rejected, 2 passages, .*a job would fail\n.*b\.json: 1 lines, .*fit to index/,
  )
  t.match((await index('status')).stdout, /There is no collection/, 'checking writes nothing')

  t.match(await index('add', corpus, '--replace'), { code: 1, stderr: /--replace takes one file/ })
  const added = await index('add', corpus, '--max-rejected', '0.5')
  t.equal(added.code, 0, added.stderr)
  t.match(
    added.stdout,
    /done {2}a\.csv {2}2\/2 committed.*1 rejected.*\n.*done {2}b\.json.*\n2 files indexed; 1 left out: 1 \.mp3 \(not supported\)\n$/,
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
  t.match((await index('snapshot', 'list')).stdout, /^whole\t\S+\t3 passages\t\d+ kB freed if deleted\tcontriever@/)
  t.match(await index('alias', 'passages', '--table', 'other'), { code: 0, stdout: 'other: 1 passages, as in passages\n' })
  t.match(await index('snapshot', 'restore', 'whole'), { code: 0, stdout: 'passages: 3 passages, restored from whole\n' })
  t.equal((await index('sources')).stdout, '2\ta.csv\n1\tb.json\n')
  t.match(await index('snapshot', 'delete', 'whole'), { code: 0 })
  t.match((await index('compact', '--dry-run')).stdout, /^passages: \d+ fragments .* kB on the disk\nreplaced tables: 1, /)
  t.match((await index('cleanup')).stdout, /\nnow: \d+ fragments/)
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
