import { cp, readdir } from 'node:fs/promises'
import path from 'node:path'
import t from 'tap'
import { indexCommand } from '../../src/cli/index/index.ts'
import { runCli } from '../helpers/cli.ts'
import { tinyShared } from '../helpers/service-settings.ts'

/** Commands that change the index, with arguments, and those that only read it or write elsewhere. */
const CHANGES = {
  add: ['a.tsv'],
  delete: ['--source', 'a.tsv'],
  resume: ['20261128T083146840-826e'],
  cancel: ['20261128T083146840-826e'],
  'snapshot create': ['monday'],
  'snapshot restore': ['monday'],
  'snapshot delete': ['monday'],
  alias: ['other'],
  reembed: [],
  compact: [],
  cleanup: [],
  commit: ['shards'],
} as const
const READS = ['status', 'sources', 'report', 'export', 'snapshot list', 'verify', 'encode-ahead', 'plan', 'vectors', 'pending']

t.test('in a replica each command that changes the index is refused, and each that reads it works', async (t) => {
  const dir = t.testdir({ 'a.tsv': 'id\ttext\n1\tCanberra is the capital of Australia.\n', docs: { 'a.md': 'Some words.' } })
  const file = path.join(dir, 'a.tsv')
  const env = tinyShared(dir)
  t.match(await runCli(['index', 'add', file], env), { code: 0 })
  const index = path.join(dir, 'index')
  await cp(index, path.join(dir, 'before'), { recursive: true })
  const replica = { ...env, CEPE_ROLE: 'replica' }
  const leaves = indexCommand().commands.flatMap((one) =>
    one.commands.length > 0 ? one.commands.map((inner) => `${one.name()} ${inner.name()}`) : [one.name()],
  )
  t.same(leaves.sort(), [...Object.keys(CHANGES), ...READS].sort(), 'every command is one or the other')
  const changes = Object.entries(CHANGES).map(([name, args]) => ['index', ...name.split(' '), ...args])
  const watching = ['index', 'add', path.join(dir, 'docs'), '--watch']
  const language = ['index', 'add', file, '--language', 'de', '--collection', 'fresh']
  for (const args of [...changes, watching, language, ['migrate'], ['migrate', '--restore', '1']]) {
    const given = args.map((one) => (one === 'a.tsv' && args[1] === 'add' ? file : one))
    t.match(
      await runCli(given, replica),
      { code: 1, stdout: '', stderr: /^cepe: CEPE_ROLE is replica.*unset CEPE_ROLE\.\n$/ },
      args.join(' '),
    )
  }
  for (const args of [['status'], ['export'], ['snapshot', 'list'], ['compact', '--dry-run'], ['add', '--check', file]])
    t.match(await runCli(['index', ...args], replica), { code: 0 }, args.join(' '))
  const files = async (folder: string) => (await readdir(folder, { recursive: true })).filter((name) => !name.includes('readings')).sort()
  t.same(await files(index), await files(path.join(dir, 'before')))
})
