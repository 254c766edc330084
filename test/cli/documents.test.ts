import { copyFile, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import t from 'tap'
import { setTimeout as sleep } from 'node:timers/promises'
import { CLI, finished, startNode } from '../../eval/bench/processes.ts'
import { makeZip } from '../fixtures/zip.ts'
import { runCli } from '../helpers/cli.ts'
import { tinyShared } from '../helpers/service-settings.ts'
import { tempDir } from '../index/helpers.ts'

await t.test('a folder of documents and tables, from the command line to an answer with its file', async (t) => {
  const dir = await tempDir(t)
  const env = tinyShared(dir)
  const docs = path.join(dir, 'docs')
  await mkdir(path.join(docs, 'manuals'), { recursive: true })
  for (const kind of ['md', 'pdf', 'docx', 'epub'])
    await copyFile(`test/fixtures/documents/handbook.${kind}`, path.join(docs, `handbook.${kind}`))
  await copyFile('test/fixtures/documents/reference.html', path.join(docs, 'manuals', 'reference.html'))
  await copyFile('test/fixtures/documents/encrypted.pdf', path.join(docs, 'manuals', 'secret.pdf'))
  await writeFile(path.join(docs, 'ports.tsv'), 'id\ttext\ttitle\n1\tThe port lies on the southern shore.\tPort\n')
  await writeFile(path.join(docs, 'dues.xlsx'), 'PK\u0003\u0004')
  await writeFile(path.join(docs, 'manuals', 'fees.xlsx'), 'PK\u0003\u0004')
  const index = (...args: string[]) => runCli(['index', ...args], env)
  const summary = '6 files %; 3 left out: 2 .xlsx (not supported), 1 encrypted PDF'

  const checked = await index('add', docs, '--check')
  t.equal(checked.code, 0, checked.stderr)
  t.match(checked.stdout, /manuals\/secret\.pdf: encrypted: .*without a password\./)
  t.ok(checked.stdout.endsWith(`${summary.replace('%', 'fit to index')}\n`), checked.stdout)
  t.match((await index('status')).stdout, /There is no table/, 'checking writes nothing')

  t.match(await index('add', docs, '--strict', '--check'), { code: 1, stdout: /docs: .*a job would fail\n/ })
  t.match(await index('add', docs, '--replace'), { code: 1, stderr: /--replace takes one file/ })
  t.match(await index('add', path.join(docs, 'manuals'), '--strict'), { code: 1, stderr: /2 of 3 files were left out/ })

  const added = await index('add', docs)
  t.equal(added.code, 0, added.stderr)
  t.match(added.stdout, /done {2}ports\.tsv {2}1\/1 committed.*\n.* done {2}docs {2}21\/21 committed.*5 files indexed; 3 left out/)
  t.ok(added.stdout.endsWith(`${summary.replace('%', 'indexed')}\n`), added.stdout)
  t.match((await index('sources')).stdout, /5\thandbook\.docx\n/)
  t.match((await index('sources')).stdout, /1\tmanuals\/reference\.html\n/)

  const one = await index('add', path.join(docs, 'handbook.md'), path.join(docs, 'dues.xlsx'))
  t.match(one, { code: 0, stdout: /\n1 file indexed; 1 left out: 1 \.xlsx \(not supported\)\n$/ })
  const { stdout } = await runCli(['ask', 'How many hours before arrival is a pilot ordered?', '--json'], env)
  const { evidence } = JSON.parse(stdout) as { evidence: { source?: string; metadata?: { kind?: string; heading?: string } }[] }
  t.ok(
    evidence.some(({ source, metadata }) => source?.startsWith('handbook.') === true && metadata?.heading !== undefined),
    stdout.slice(0, 2000),
  )
})

await t.test('a text file is a document, or a table where it begins as one; folders without either are named', async (t) => {
  const dir = await tempDir(t)
  const env = tinyShared(dir)
  const file = (name: string) => path.join(dir, name)
  await writeFile(file('note.txt'), 'The lamp burns at night.')
  await writeFile(file('table.txt'), 'id\ttext\n1\tThe lamp\n')
  await mkdir(file('pictures'))
  await writeFile(file('pictures/a.png'), Buffer.from('89504e47', 'hex'))
  const check = (...args: string[]) => runCli(['index', 'add', ...args, '--check'], env)
  t.match((await check(file('note.txt'))).stdout, /1 file readable, 1 passages/)
  t.match((await check(file('table.txt'))).stdout, /table\.txt: 1 lines, 0 rejected, 1 passages/)
  t.match((await check(file('pictures'))).stderr, /pictures holds neither tables .* nor documents/)
  t.match(await check(file('pictures/a.png')), { code: 1, stdout: /1 \.png \(not supported\).*a job would fail/ })
})

/** So many that the job is seen at work before it is done. */
const FILES = 10
const SENTENCES = 150

await t.test('a job of documents whose process is killed goes on, and an archive is one job', async (t) => {
  const dir = await tempDir(t)
  const env = tinyShared(dir)
  const docs = path.join(dir, 'docs')
  await mkdir(docs)
  const sentence = (file: number, i: number) =>
    `The lamp number ${i} of pier ${file} burns from dusk until dawn and is looked after by the watch.`
  for (let file = 0; file < FILES; file++) {
    const text = Array.from({ length: SENTENCES }, (_, i) => sentence(file, i)).join(' ')
    await writeFile(path.join(docs, `pier-${file}.md`), `# Pier ${file}\n\n${text}\n`)
  }
  t.match(await runCli(['index', 'add', path.join(docs, 'pier-0.md')], env), { code: 0 })
  const jobs = path.join(env.CEPE_INDEX_DIR, 'jobs')
  const [first = ''] = await readdir(jobs)
  const child = startNode(CLI, ['index', 'add', docs], { env })
  const ended = finished(child)
  let state = ''
  let id = ''
  while (child.exitCode === null && !['indexing', 'verifying', 'done'].includes(state)) {
    await sleep(20)
    id = (await readdir(jobs)).find((name) => name !== first) ?? ''
    const record = await readFile(path.join(jobs, id, 'job.json'), 'utf8').catch(() => '{}')
    state = (JSON.parse(record) as { state?: string }).state ?? ''
  }
  child.kill('SIGKILL')
  await ended
  t.equal(state, 'indexing', 'it was at work when it was killed')
  const resumed = await runCli(['index', 'resume', id], env)
  t.match(resumed, { code: 0, stdout: new RegExp(`done {2}docs .*${FILES} files indexed`) })
  const sources = (await runCli(['index', 'sources'], env)).stdout.trim().split('\n')
  t.equal(sources.length, FILES)
  t.equal(new Set(sources.map((line) => line.split('\t')[0])).size, 1, 'each file has all of its passages, once')

  const zip = makeZip([
    { name: 'notes/a.md', content: 'The lamp burns.' },
    { name: 'notes/b.xlsx', content: 'PK' },
  ])
  await writeFile(path.join(dir, 'notes.zip'), zip)
  const checked = await runCli(['index', 'add', path.join(dir, 'notes.zip'), '--check'], env)
  t.match(checked, { code: 0, stdout: /notes\.zip: 1 file readable; 1 left out.*fit to index\n1 file fit to index; 1 left out: 1 \.xlsx/ })
  await writeFile(path.join(dir, 'escape.zip'), makeZip([{ name: '../a.md', content: 'The lamp.' }]))
  const escape = await runCli(['index', 'add', path.join(dir, 'escape.zip'), '--check'], env)
  t.match(escape, { code: 1, stdout: /escape\.zip: .*relative path.*a job would fail/ })
  const archive = await runCli(['index', 'add', path.join(dir, 'notes.zip')], env)
  t.match(archive, { code: 0, stdout: /done {2}notes\.zip .*\n1 file indexed; 1 left out: 1 \.xlsx \(not supported\)\n$/ })
})
