import { spawnSync } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { tableFromIPC } from 'apache-arrow'
import t from 'tap'
import { f16ToF32 } from '../../base/binary16.ts'
import { openShardDir, vectorsOf } from '../../index/ingest/shard-dir/shard-dir.ts'
import { halvesOf, stringsOf } from '../../index/table/rows.ts'
import { runCli } from '../helpers/cli.ts'
import { storedRows } from '../helpers/stored-rows.ts'
import { somePassages, tempDir } from '../index/helpers.ts'
import { toTsv } from '../jobs/helpers.ts'

const PASSAGES = 60

await t.test(
  "the retriever's own vectors, brought along as a file, become the same table; others are refused",
  { timeout: 380_000 },
  async (t) => {
    const dir = await tempDir(t)
    const corpus = path.join(dir, 'corpus.tsv')
    await writeFile(corpus, toTsv(somePassages(PASSAGES)))
    const settings = (index: string) => ({
      CEPE_RETRIEVER_CHECKPOINT: 'models/tiny/checkpoint/contriever',
      CEPE_RETRIEVER_DIR: path.join(dir, 'retriever'),
      CEPE_INDEX_DIR: path.join(dir, index),
      CEPE_CORPUS: '',
      CEPE_THREADS: '1',
    })
    const run = (args: readonly string[], index = 'index') => runCli(args, settings(index))
    const place = path.join(dir, 'place')
    t.match(await run(['index', 'plan', corpus, '--out', place, '--shard-rows', '25']), { code: 0 })

    const other = path.join(dir, 'other')
    await run(['index', 'plan', corpus, '--out', other, '--shard-rows', '25'])
    const worker = spawnSync(process.execPath, ['dist/src/cli.js', 'embed-worker', other], {
      env: { PATH: process.env['PATH'] ?? '', ...settings('index') },
      input: '{"shard":0}\n{"shard":1}\n{"shard":2}\n',
    })
    t.equal(worker.status, 0, String(worker.stderr))
    t.match(await run(['index', 'commit', other], 'embedded'), { code: 0 })
    const rows: { id: string; vector: number[] }[] = []
    const shardDir = await openShardDir(other)
    for (const shard of shardDir.plan.shard_rows.keys()) {
      const table = tableFromIPC(await readFile(vectorsOf(shardDir, shard).path))
      for (let row = 0; row < table.numRows; row++)
        rows.push({ id: stringsOf(table, 'id')(row), vector: [...f16ToF32(halvesOf(table)(row))] })
    }
    const file = path.join(dir, 'vectors.jsonl')
    const write = (given: readonly object[]) => writeFile(file, given.map((row) => `${JSON.stringify(row)}\n`).join(''))
    const give = (...more: string[]) => run(['index', 'vectors', place, file, '--work', dir, ...more])

    await write(rows.map(({ vector }, i) => ({ id: rows[(i + 1) % rows.length]?.id, vector })))
    t.match(await give(), { code: 1, stderr: /required option '--made-by/ })
    t.match(await give('--made-by', 'facebook/contriever'), {
      code: 1,
      stderr: /are of facebook\/contriever \(--made-by\), the plan is for contriever@/,
    })
    t.match(await give('--made-by', 'facebook/contriever', '--same-model'), {
      code: 1,
      stderr: /The vector given for passage "p\d+" is not what contriever@.* makes of it: their cosine is 0\.\d+, and 0\.98 is asked for/,
    })
    await write(rows.slice(0, 50).toReversed())
    t.match(await give('--made-by', 'facebook/contriever', '--same-model'), {
      code: 1,
      stdout: `${place}: vectors of 2 shards written, 0 had theirs; 44 passages compared, least cosine 1.0000\n`,
      stderr: /No vector is given for 10 passages \("p50", "p51", "p52", \.\.\.\): 1 shard skipped/,
    })
    await write(rows)
    t.match(await give('--made-by', 'facebook/contriever', '--same-model'), {
      code: 0,
      stdout: /vectors of 1 shard written, 2 had theirs/,
    })
    t.match(await run(['index', 'commit', place, '--replace']), { code: 0, stdout: /60 passages in the collection/ })
    t.same(await storedRows(path.join(dir, 'index')), await storedRows(path.join(dir, 'embedded')))
  },
)
