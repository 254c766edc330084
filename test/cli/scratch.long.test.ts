import { mkdir, readdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import t from 'tap'
import { syntheticPassage } from '../fixtures/synthetic-corpus.ts'
import { processTag } from '../../base/locks/process.ts'
import { runCli } from '../helpers/cli.ts'
import { tinyShared } from '../helpers/service-settings.ts'
import { tempDir } from '../index/helpers.ts'

const ROWS = 600

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
