import { mkdir, readdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import t from 'tap'
import { syntheticPassage } from '../fixtures/synthetic-corpus.ts'
import { workFolder } from '../../base/locks/scratch.ts'
import { processTag } from '../../base/process-tag.ts'
import { makeZip } from '../fixtures/zip.ts'
import { runCli } from '../helpers/cli.ts'
import { tinyShared } from '../helpers/service-settings.ts'
import { tempDir } from '../index/helpers.ts'

const ROWS = 600

await t.test('a folder for one piece of work goes at its end, and those of killed processes with the next one', async (t) => {
  const dir = await tempDir(t)
  const killed = `cepe-qa.${(await processTag()).replace(/-\d+-/, '-4194305-')}.abcdef`
  await mkdir(path.join(dir, killed, 'index'), { recursive: true })
  await mkdir(path.join(dir, 'of-others'))
  {
    await using folder = await workFolder(dir)
    t.same((await readdir(dir)).sort(), [path.basename(folder.path), 'of-others'])
  }
  t.same(await readdir(dir), ['of-others'])
  await writeFile(path.join(dir, 'a.zip'), makeZip([{ name: 'a.md', content: 'text' }]))
  const env = { ...tinyShared(dir), TMPDIR: path.join(dir, 'missing') }
  for (const args of [['index', 'add', '--check', path.join(dir, 'a.zip')], ['calibrate']])
    t.match(await runCli(args, env), { code: 1, stderr: /missing, cannot be written to: set TMPDIR to another\.$/m }, args.join(' '))
})

await t.test('making a vector index leaves nothing among the temporary files, and what killed processes left goes', async (t) => {
  const dir = await tempDir(t)
  const TMPDIR = path.join(dir, 'tmp')
  const killed = `cepe-qa.${(await processTag()).replace(/-\d+-/, '-4194305-')}.abcdef`
  await mkdir(path.join(TMPDIR, killed, '.tmpAbCdEf'), { recursive: true })
  await mkdir(path.join(TMPDIR, 'of-others'))
  const corpus = path.join(dir, 'corpus.jsonl')
  const lines = Array.from({ length: ROWS }, (_, i) => JSON.stringify({ ...syntheticPassage(i), id: String(i) }))
  await writeFile(corpus, lines.join('\n'))
  const env = { ...tinyShared(dir, { CEPE_EXACT_BELOW: '300', CEPE_MIN_RECALL: '0' }), TMPDIR }
  const added = await runCli(['index', 'add', corpus], env)
  t.match(added, { code: 0, stdout: /600 passages in the collection/ })
  t.match(await runCli(['index', 'compact'], env), { code: 0 })
  t.same(await readdir(TMPDIR), ['of-others'])
})
