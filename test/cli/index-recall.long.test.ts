import t from 'tap'
import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { runCli } from '../helpers/cli.ts'
import { tinyShared } from '../helpers/service-settings.ts'
import { tempDir } from '../index/helpers.ts'

await t.test('the recall of a vector index is shown, with that of questions', async (t) => {
  const dir = await tempDir(t)
  const env = { ...tinyShared(dir), CEPE_EXACT_BELOW: '300', CEPE_MIN_RECALL: '0.5' }
  const rows = (await readFile('index/corpus/passages.tsv', 'utf8')).split('\n').slice(0, 401)
  const corpus = path.join(dir, 'part.tsv')
  await writeFile(corpus, rows.join('\n'))
  const added = await runCli(['index', 'add', corpus], env)
  t.equal(added.code, 0, added.stderr)
  t.match(
    (await runCli(['index', 'status'], env)).stdout,
    /400 passages, .*ivf_rq search \(recall@10 [01]\.\d{3}, of questions [01]\.\d{3}\)/,
  )
})
