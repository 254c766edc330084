import t from 'tap'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFile, mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { takeLock } from '../../base/locks/lock.ts'
import { bareEnvironment, CLI, finished, startNode } from '../helpers/processes.ts'
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
    /line 4: missing_column: .*\n.*a\.csv: 3 lines, 1 rejected, 2 passages, .*a job would fail\n.*b\.json: 1 line, .*fit to index/,
  )
  t.match(await index('status'), { code: 0, stdout: /There is no collection/ }, 'checking writes nothing')

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
  t.match(await index('alias', 'passages', '--table', 'other'), { code: 0, stdout: 'other: 1 passage, as in passages\n' })
  t.match(await index('snapshot', 'restore', 'whole'), { code: 0, stdout: 'passages: 3 passages, restored from whole\n' })
  t.equal((await index('sources')).stdout, '2\ta.csv\n1\tb.json\n')
  t.match(await index('snapshot', 'delete', 'whole'), { code: 0 })
  t.match((await index('compact', '--dry-run')).stdout, /^passages: \d+ fragments .* kB on the disk\nreplaced tables: 1, /)
  t.match((await index('cleanup')).stdout, /\nnow: \d+ fragments/)
  const alias = (table: string) => path.join(env.CEPE_INDEX_DIR, `${table}.alias.json`)
  await copyFile(alias('other'), alias('passages'))
  const damaged = /passages\.alias\.json is damaged: its value should be .*begins with passages\./
  t.match(await index('status'), { code: 1, stdout: damaged }, 'the alias of another collection')
  t.match(await index('delete', '--source', 'b.json'), { code: 1, stderr: damaged })
  t.equal((await index('sources', '--collection', 'other')).stdout, '1\tb.json\n', 'which keeps its passages')
})

await t.test('commands that read work in a folder that cannot be written to, and those that change it say why they do not', async (t) => {
  const dir = await tempDir(t)
  const env = tinyShared(dir)
  const file = path.join(dir, 'a.csv')
  await writeFile(file, 'id,text\n1,"Canberra, the capital"\n')
  const added = await runCli(['index', 'add', file], env)
  const [job = ''] = added.stdout.split(' ')
  t.match(await runCli(['index', 'snapshot', 'create', 'whole'], env), { code: 0 })
  t.match(await runCli(['ask', 'What is the capital?'], env), { code: 0 }, 'which builds the models')
  const modes = (mode: string) => promisify(execFile)('chmod', ['-R', mode, dir])
  await modes('a+rX,a-w')
  t.teardown(() => modes('u+w'))
  // Permissions do not bind the superuser.
  const uid = process.getuid?.() === 0 ? { uid: 65_534 } : {}
  const run = (...args: string[]) => finished(spawn(process.execPath, [CLI, ...args], { env: { ...bareEnvironment(), ...env }, ...uid }))
  for (const [args, stdout] of [
    [['index', 'status'], /^collection passages: 1 passage[^]*done {2}a\.csv/],
    [['index', 'status', job], /"state": "done"/],
    [['index', 'sources'], /^1\ta\.csv\n$/],
    [['index', 'export'], /^\{"id":"1"/],
    [['index', 'report', job], /^$/],
    [['index', 'snapshot', 'list'], /^whole\t/],
    [['index', 'verify'], /^passages: 1 passage, \d+ files as committed/],
    [['index', 'compact', '--dry-run'], /^passages: 1 fragment/],
    [['index', 'cleanup', '--dry-run'], /^passages: 1 fragment/],
    [['index', 'add', file, '--check'], /1 passage.*fit to index\n$/],
    [['migrate', '--dry-run'], /nothing to do/],
    [['ask', 'What is the capital?'], /Canberra, the capital/],
  ] as const)
    t.match(await run(...args), { code: 0, stdout }, args.join(' '))
  for (const args of [
    ['add', file],
    ['delete', '--source', 'a.csv'],
    ['snapshot', 'create', 'x'],
    ['snapshot', 'delete', 'whole'],
    ['snapshot', 'restore', 'whole'],
    ['alias', 'other'],
    ['cancel', job],
  ])
    t.match(await run('index', ...args), { code: 1, stderr: /index cannot be written to.*CEPE_INDEX_DIR/ }, args.join(' '))
  t.match(await run('index', 'compact'), { code: 1, stderr: /cannot be read or written to: check its permissions/ })
})

await t.test('control characters of a corpus break no line of the output', async (t) => {
  const dir = await tempDir(t)
  const env = tinyShared(dir)
  const index = (...args: string[]) => runCli(['index', ...args], env)
  const file = path.join(dir, 'a\nb.jsonl')
  await writeFile(
    file,
    [
      ['1', 'two\nlines\tand\u001b[31m'],
      ['2', '"quoted"'],
      ['3', 'C:\\new'],
    ]
      .map(([id, source]) => `${JSON.stringify({ id, source, text: 'The Orinoco is a river.' })}\n`)
      .join(''),
  )
  t.match(await index('add', file, '--check'), { code: 0, stdout: /^\S*\/a\\nb\.jsonl: 3 lines, .*fit to index\n$/ })
  t.match(await index('add', file), { code: 0, stdout: /^\S+ {2}done {2}a\\nb\.jsonl {2}3\/3 .*\n$/ })
  t.match((await index('status')).stdout, /^collection .*\n\S+ {2}done {2}a\\nb\.jsonl .*\n$/)
  const [quoted, escaped, path_] = ['"\\"quoted\\""', '"two\\nlines\\tand\\u001b[31m"', 'C:\\new']
  t.same((await index('sources')).stdout.split('\n').sort(), ['', `1\t${quoted}`, `1\t${escaped}`, `1\t${path_}`])
  for (const [source, id] of [
    [escaped, '1'],
    [quoted, '2'],
    [path_, '3'],
  ] as const)
    t.match(JSON.parse((await index('export', '--source', source)).stdout), { id }, 'a source is named as it is shown')
  t.match(await index('delete', '--source', escaped), { code: 0, stdout: '1 passage deleted\n' })
  t.match(await index('add', path.join(dir, 'no\u001bne')), { code: 1, stderr: /no\\u001bne does not exist/ })
})

await t.test('options that contradict each other are refused, and none is ignored', async (t) => {
  const dir = await tempDir(t)
  const env = tinyShared(dir)
  const file = path.join(dir, 'a.csv')
  await writeFile(file, `id,text\n${Array.from({ length: 200 }, (_, i) => `${i},The Orinoco\n`).join('')}bad\n`)
  const out = path.join(dir, 'plan')
  for (const args of [
    ['add', file],
    ['add', file, '--check'],
    ['plan', file, '--out', out],
  ])
    t.match(
      await runCli(['index', ...args, '--strict', '--max-rejected', '0.5'], env),
      { code: 1, stderr: /strict allows no rejected line .*give one of the two/ },
      args.join(' '),
    )
  t.match(await runCli(['index', 'plan', file, '--out', out, '--strict'], env), { code: 1, stderr: /1 of 201 lines/ })
  t.match(await runCli(['index', 'plan', file, '--out', out], env), { code: 0, stdout: /200 passages .*1 line rejected/ })
})

await t.test('a job that reaches the limit of file sizes stops with the remedy, keeps what is there and resumes', async (t) => {
  const dir = await tempDir(t)
  const env = tinyShared(dir)
  const index = (...args: string[]) => runCli(['index', ...args], env)
  const [small, large] = [path.join(dir, 'small.csv'), path.join(dir, 'large.csv')]
  await writeFile(small, 'id,text\n1,"Canberra, the capital"\n')
  await writeFile(large, `id,text\n${Array.from({ length: 2000 }, (_, i) => `r${i},${'The Orinoco is a river. '.repeat(20)}\n`).join('')}`)
  t.match(await index('add', small), { code: 0 })
  const limited = ['-c', 'ulimit -f 400; exec "$@"', 'sh', process.execPath, CLI, 'index', 'add', large]
  const { code, stderr } = await finished(spawn('sh', limited, { env: { ...bareEnvironment(), ...env } }))
  t.match(
    { code, stderr },
    { code: 1, stderr: /large\.csv\) has stopped: A file would be larger than it may be: raise the limit \(ulimit -f\)/ },
  )
  t.match((await index('export')).stdout, /^\{"id":"1",/)
  const [job = ''] = /\S+(?= {2}stopped)/.exec((await index('status')).stdout) ?? []
  t.match(await index('resume', job), { code: 0, stdout: /2000\/2000 committed.*; 2001 passages/ })
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
