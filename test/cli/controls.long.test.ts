import { readdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import t from 'tap'
import { legible } from '../../base/json.ts'
import { runCli } from '../helpers/cli.ts'
import { root } from '../helpers/root.ts'
import { tinyShared } from '../helpers/service-settings.ts'

// Colour, title of the terminal, the same introducer in one character, erasure, separators.
const TEXT = 'Canberra \u001b[31mis\u009b31m the \u007fcapital \u2028of Australia'
const TITLE = 'Aus\u001b]0;title\u0007tralia'

t.test('a text is written with its control characters as in JSON, and JSON keeps its value', (t) => {
  t.equal(legible('a\tb\r\nc\u001b[0m'), 'a\tb\\r\nc\\u001b[0m')
  t.equal(legible('a\tb\n', ''), 'a\\tb\\n')
  const json = JSON.stringify({ [TITLE]: TEXT }, null, 2)
  t.same(JSON.parse(legible(json)), { [TITLE]: TEXT })
  t.notMatch(legible(json), /[^\n\P{Cc}]/u)
  t.end()
})

t.test('only the functions that escape control characters write to the outputs of a command', async (t) => {
  for (const name of await readdir(path.join(root, 'src/cli'), { recursive: true })) {
    if (!name.endsWith('.ts') || /program[/\\](?:shown|progress)\.ts$/.test(name)) continue
    t.notMatch(await readFile(path.join(root, 'src/cli', name), 'utf8'), /process\.std(?:out|err)\.write|console\./, name)
  }
})

t.test('no output of a command passes control characters of texts, names and sources on', async (t) => {
  const dir = t.testdir()
  const file = path.join(dir, 'a\u001b[2J.tsv')
  const page = path.join(dir, 'page.md')
  await writeFile(file, `id\ttext\ttitle\n1\t${TEXT}\t${TITLE}\n2\n`)
  await writeFile(page, `# ${TITLE}\n\n${TEXT}.\n`)
  const env = tinyShared(dir)
  const kept: Record<string, string> = {}
  for (const args of [
    ['index', 'add', file, '--show', '--max-rejected', '1'],
    ['index', 'add', file, '--max-rejected', '1'],
    ['index', 'add', path.join(dir, 'none\u001b[2J.tsv')],
    ['index', 'status'],
    ['index', 'sources'],
    ['index', 'export'],
    ['ask', 'what is the capital of australia'],
    ['ask', '--json', 'what is the capital of australia'],
    ['read', page, 'what is the capital of australia'],
  ]) {
    const { stdout, stderr } = await runCli(args, env)
    for (const text of [stdout, stderr]) t.notMatch(text, /[^\n\t\P{Cc}]|[\u2028\u2029]/u, args.slice(0, 2).join(' '))
    kept[args.slice(0, 2).join(' ')] = stdout
  }
  t.same(
    JSON.parse(kept['index export'] ?? ''),
    { id: '1', title: TITLE, text: TEXT, source: path.basename(file) },
    'an export is the same data',
  )
})
