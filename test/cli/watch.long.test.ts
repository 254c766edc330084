import { mkdir, rm, writeFile } from 'node:fs/promises'
import { once } from 'node:events'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { CLI, collect, startNode } from '../helpers/processes.ts'
import { runCli } from '../helpers/cli.ts'
import { tinyService } from '../helpers/service-settings.ts'
import { tempDir } from '../index/helpers.ts'

await t.test('a watched folder: what changes is indexed, a run that fails ends nothing, SIGTERM ends it', async (t) => {
  const dir = await tempDir(t)
  const env = tinyService(dir)
  const docs = path.join(dir, 'docs')
  await mkdir(docs)
  await writeFile(path.join(docs, 'lamp.md'), '# Lamp\n\nThe lamp burns at night.\n')
  t.match(await runCli(['index', 'add', docs, '--watch', '--check'], env), { code: 1, stderr: /--watch goes with none of/ })
  t.match(await runCli(['index', 'add', docs, '--watch', '0'], env), { code: 1, stderr: /from 1 to 3600/ })

  const child = startNode(CLI, ['index', 'add', docs, '--watch', '1', '--delete-missing'], { env })
  t.teardown(() => child.kill('SIGKILL'))
  const closed = once(child, 'close')
  const printed = collect(child)
  const said = async (pattern: RegExp): Promise<void> => {
    while (!pattern.test(printed.stdout() + printed.stderr())) {
      if (child.exitCode !== null) throw new Error(`It has ended: ${printed.stdout()}${printed.stderr()}`)
      await sleep(50)
    }
  }
  const runs = (number: number) => said(new RegExp(`(Watching .*for changes[^]*){${number}}`))
  await runs(1)
  await writeFile(path.join(docs, 'bell.md'), '# Bell\n\nThe bell rings in fog.\n')
  await runs(2)
  t.match(printed.stdout(), /2\/2 committed, 1 unchanged, 2 files indexed;/)
  await writeFile(path.join(docs, 'ports.tsv'), 'no header\n1\n')
  await runs(3)
  t.match(printed.stderr(), /cepe: .*the header has no column id and text/)
  t.notMatch(printed.stdout(), /3 files/, 'the documents, which did not change, were left alone')
  await rm(path.join(docs, 'lamp.md'))
  await writeFile(path.join(docs, 'ports.tsv'), 'id\ttext\np\tThe port is open.\n')
  await runs(4)
  t.match(printed.stdout(), /done {2}ports\.tsv {2}1\/1[^]*1 gone \(1 passage deleted\)/)
  child.kill('SIGTERM')
  t.equal((await closed)[0], 0, printed.stderr())
  t.match(printed.stdout(), /Watching has ended/)
  const { stdout } = await runCli(['index', 'sources'], env)
  t.same(stdout.trim().split('\n').sort(), ['1\tbell.md', '1\tports.tsv'])
})
