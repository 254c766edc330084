import t from 'tap'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { connectLance } from '../../index/table/lance.ts'
import { readWordIndex } from '../../index/table/words.ts'
import { readAlias } from '../../index/versions/alias.ts'
import { makePdf } from '../fixtures/pdf.ts'
import { runCli } from '../helpers/cli.ts'
import { tinyShared } from '../helpers/service-settings.ts'
import { tempDir } from '../index/helpers.ts'

await t.test('of several files each problem is said with its file, and the others are indexed; a blank question is none', async (t) => {
  const dir = await tempDir(t)
  const env = tinyShared(dir)
  const file = (name: string): string => path.join(dir, 'corpus', name)
  await mkdir(path.join(dir, 'corpus', 'folder.csv'), { recursive: true })
  await writeFile(file('a.tsv'), '')
  await writeFile(file('b.tsv'), 'id\ttext\ttitle\n1\tThe Orinoco\tA river\n')
  await writeFile(path.join(dir, 'outside.csv'), 'id,text\n2,A file outside of the folder\n')
  await symlink(path.join(dir, 'outside.csv'), file('link.csv'))
  const checked = await runCli(['index', 'add', path.join(dir, 'corpus'), '--check'], env)
  t.match(checked, {
    code: 1,
    stdout:
      /a\.tsv: The file is empty.*a job would fail\n.*b\.tsv: 1 line.*fit to index\n1 file fit to index; 1 left out: 1 \.csv \(symbolic link\)\n$/,
  })
  const strict = await runCli(['index', 'add', path.join(dir, 'corpus'), '--strict'], env)
  t.match(strict, { code: 1, stderr: /Not started: .*b\.tsv\n.*\(a\.tsv\) has failed: The file is empty/ })
  const added = await runCli(['index', 'add', path.join(dir, 'corpus')], env)
  t.match(added, {
    code: 1,
    stdout: /done {2}b\.tsv {2}1\/1/,
    stderr: /a\.tsv is not indexed: .*The file is empty.*\n[^]*cepe: Not indexed: .*a\.tsv\. /,
  })
  t.match(await runCli(['index', 'status', 'nope'], env), { code: 1, stderr: /cepe index status/ })
  t.match(await runCli(['ask', ' '], env), { code: 1, stderr: /question must not be blank/ })
})

await t.test('a first add makes the collection in a language; a later one cannot choose it', async (t) => {
  const dir = await tempDir(t)
  const env = tinyShared(dir)
  const file = path.join(dir, 'ports.tsv')
  await writeFile(file, 'id\ttext\n1\tThe boats lie in the ports.\n')
  const add = (...args: string[]) => runCli(['index', 'add', file, ...args], env)
  t.match(await add('--language', 'xx'), { code: 1, stderr: /--language <code>.*Allowed choices are none, ar, da, de/s })
  t.match(await add('--language', 'de', '--check'), { code: 0 })
  t.match((await runCli(['index', 'status'], env)).stdout, /There is no collection/, 'a check makes nothing')
  t.match(await add('--language', 'de'), { code: 0, stdout: /1\/1 committed/ })
  const connection = await connectLance(path.join(dir, 'index'), 0)
  t.teardown(() => connection.close())
  const words = async () => {
    const live = await readAlias({ dir: path.join(dir, 'index'), table: 'passages' })
    return readWordIndex(await connection.openTable(live ?? ''))
  }
  t.same(await words(), { language: 'de', chosen: 'de' }, 'although the text is English')
  for (const check of [[], ['--check']])
    t.match(await add('--language', 'en', ...check), { code: 1, stderr: /"passages" exists, and its language is chosen.*leave it out/ })
  for (const [option, value, message] of [
    ['--encoding', 'utf-99', /The encoding "utf-99" is not known/],
    ['--label', '', /label must not have fewer than 1 characters/],
  ] as const)
    for (const check of [[], ['--check']])
      t.match(await add(option, value, ...check), { code: 1, stderr: message }, 'a check fails like a job')
  t.match(await add('--language', 'de'), { code: 0, stdout: /1 unchanged/ })
  t.match(await add(), { code: 0, stdout: /1 unchanged/ })
  t.same(await words(), { language: 'de', chosen: 'de' })
})

await t.test('passages are shown without being indexed; a strict job that fails says what was indexed before it', async (t) => {
  const dir = await tempDir(t)
  const env = tinyShared(dir)
  const docs = path.join(dir, 'docs')
  await mkdir(docs)
  const head = (page: number) => ['Harbour rules', '', '', `Rule ${page} says that boats wait.`]
  await writeFile(path.join(docs, 'rules.pdf'), makePdf([head(1), head(2), head(3)]))
  await writeFile(path.join(docs, 'ports.tsv'), 'id\ttext\ttitle\n1\tThe port lies south.\tPort\n')
  const shown = await runCli(['index', 'add', docs, '--show'], env)
  t.match(shown, {
    code: 0,
    stdout:
      /--- 1\nPort\nThe port lies south\.\n[^]*--- rules\.pdf#[\w-]+ \(page 1\)\nrules\nRule 1 says that boats wait\.\s+Rule 2 [^]*\n[^\n]*: rules\.pdf: 3 lines are left out as running heads: "Harbour rules"\.\n/,
  })
  t.match((await runCli(['index', 'status'], env)).stdout, /There is no collection/, 'nothing is indexed')
  await writeFile(path.join(docs, 'empty.md'), '')
  const strict = await runCli(['index', 'add', docs, '--strict'], env)
  t.match(strict, { code: 1, stderr: /Indexed before: .*ports\.tsv\n[^]*1 of 2 files were left out.* This job indexed nothing\./ })
  t.match((await runCli(['index', 'status'], env)).stdout, /\b1 passage/)
})
