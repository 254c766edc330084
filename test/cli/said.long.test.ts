import { mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import t from 'tap'
import { askCommand } from '../../src/cli/ask.ts'
import { indexCommand } from '../../src/cli/index/index.ts'
import { runCli } from '../helpers/cli.ts'
import { tinyShared } from '../helpers/service-settings.ts'

t.test('keys: a collection that is not there, and a first key that closes the service, are named', async (t) => {
  const dir = t.testdir({ index: { 'law.alias.json': '{}' } })
  const env = { CEPE_KEYS_DIR: path.join(dir, 'keys'), CEPE_INDEX_DIR: path.join(dir, 'index') }
  const add = (...args: string[]) => runCli(['keys', 'add', ...args], env)
  const root = await add('root', '--admin')
  t.match(root, { code: 0, stdout: /^cepe_\S+\n$/, stderr: /^$/ }, 'an admin key closes nothing')
  const first = await add('bob', '--collections', 'law, nope,passages')
  t.match(first, { code: 0, stdout: /^cepe_\S+\n$/, stderr: /no collection nope yet.*\n.*first user key/ })
  t.notMatch(first.stderr, /collection (?:law|passages)/)
  t.match(await add('ann', '--collections', 'law'), { code: 0, stderr: /^$/ })
  await writeFile(path.join(dir, 'keys', 'bad.key.json'), '{')
  t.match(await add('eve'), { code: 0, stdout: /^cepe_\S+\n$/ }, 'a damaged file of another key stands in the way of none')
})

t.test('what is typed in and cannot be is named before anything is loaded', async (t) => {
  const dir = t.testdir({ 'q.jsonl': 'who\n', 'notes.md': '# Notes\n\nSome words.\n', empty: {}, docs: { 'a.md': 'Some words.' } })
  const at = (name: string) => path.join(dir, name)
  const env = { CEPE_INDEX_DIR: at('index') }
  for (const [args, message] of [
    [['read', dir, 'who'], /There is no file .* it is a folder; name one document/],
    [['read', at('nope.pdf'), 'who'], /There is no file/],
    [['inspect', at('nope')], /There is no folder \S+nope: name that of a built model/],
    [['inspect', at('empty')], /empty holds no model/],
    [
      ['ask', '--file', at('q.jsonl'), '--out', at('nope/answers.jsonl')],
      /--out \S+ cannot be written .*name a file in a folder that exists/,
    ],
    [['ask', '--file', at('q.jsonl'), '--out', at('empty')], /--out|exists already/],
    [['index', 'add', at('notes.md'), '--columns', 'text=a'], /--columns applies to tables/],
    [['migrate', '--dry-run', '--restore', '3'], /--dry-run' cannot be used with option '--restore <version>'/],
    [['index', 'add', at('docs'), '--format', 'tsv'], /--format applies to tables/],
    [['index', 'add', at('notes.md'), '--ids', 'line'], /--ids applies to tables/],
    [['index', 'add', at('notes.md'), '--no-quotes', '--check'], /--no-quotes applies to tables/],
    [['index', 'add', at('notes.md'), '--no-metadata', '--watch'], /--no-metadata applies to tables/],
  ] as const)
    t.match(await runCli(args, env), { code: 1, stderr: message, stdout: '' }, args.join(' '))
})

t.test('a source without passages is an error where one is named, and a collection has one name', async (t) => {
  const dir = t.testdir()
  const env = tinyShared(dir)
  const index = (...args: string[]) => runCli(['index', ...args], env)
  await mkdir(path.join(dir, 'corpus'))
  await writeFile(path.join(dir, 'corpus', 'a.csv'), 'id,text\n1,"Canberra, the capital"\n')
  t.match(await index('add', path.join(dir, 'corpus'), '--collection', 'towns'), { code: 0, stdout: /1 passage in the collection/ })
  await writeFile(path.join(dir, 'bad.csv'), 'id,text\n1\n')
  await index('add', path.join(dir, 'bad.csv'), '--collection', 'rivers')
  const { stdout } = await index('status', '--collection', 'towns')
  t.match(stdout, /^collection towns: 1 passage,/)
  t.match(stdout, / done {2}a\.csv {2}.*; 1 passage in the collection towns\n/, 'jobs of all collections, which each line names')
  t.match(stdout, / failed {2}bad\.csv {2}.*; collection rivers: /)
  for (const command of ['delete', 'export'])
    t.match(await index(command, '--source', 'nope', '--collection', 'towns'), {
      code: 1,
      stdout: '',
      stderr: /no passages from "nope" in the collection towns/,
    })
  t.match(await index('sources', '--table', 'towns'), { code: 0, stdout: '1\ta.csv\n' }, 'the earlier name of the option')
  t.match(await index('delete', '--source', 'a.csv', '--collection', 'towns'), { code: 0, stdout: '1 passage deleted\n' })
  t.match(await index('sources', '--collection', 'nope'), { code: 1, stderr: /There is no collection "nope"/ })
})

t.test('help lists commands in the order of use, and names collections, not tables of the store', (t) => {
  const names = indexCommand().commands.map((command) => command.name())
  t.same(names.slice(0, 4), ['add', 'status', 'sources', 'delete'])
  t.same([...new Set(names)], names)
  t.equal(names.length, 19)
  const help = [askCommand(), ...indexCommand().commands, ...indexCommand().commands.flatMap(({ commands }) => commands)]
  for (const command of help) t.notMatch(command.helpInformation(), /--table|(?:the|of a|another) table\b/, command.name())
  t.match(askCommand().helpInformation(), /--collection <name>[\s\S]*--mode <mode>/)
  t.end()
})
