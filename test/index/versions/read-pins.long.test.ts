import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { syntheticPassage } from '../../fixtures/synthetic-corpus.ts'
import { indexedTable } from '../../fixtures/synthetic-table.ts'
import { tableFolder } from '../../../index/versions/alias.ts'
import { compactionCommand } from '../../../index/compaction/compact.ts'
import { hasReadPins } from '../../../index/versions/read-pins.ts'
import { embedText, hashEmbedding, tempDir } from '../helpers.ts'
import { indexProcess } from '../table/index-process.ts'

const ROWS = 9000
const STORED_AS = 'passages.bench'

/** Another process that has begun to export, and waits. */
async function exporting(t: Test, dir: string) {
  const child = await indexProcess(t, 'exporting', dir)
  return { rest: async () => (await child.end()).trim().split('\n'), kill: () => child.kill() }
}

async function tidy(dir: string, task: 'compact' | 'cleanup'): Promise<void> {
  await compactionCommand({ dir, table: 'passages', task, keepMs: 0, dryRun: false })
}

await t.test('what an export of another process reads stays until it ends, or is killed', async (t) => {
  const dir = await tempDir(t)
  await indexedTable(dir, hashEmbedding, ROWS, (number) => embedText(syntheticPassage(number).text))
  const data = join(tableFolder(dir, STORED_AS), 'data')
  const before = await readdir(data)
  const reader = await exporting(t, dir)
  const killed = await exporting(t, dir)
  await tidy(dir, 'compact')
  const meanwhile = await readdir(data)
  t.ok(
    before.every((file) => meanwhile.includes(file)),
    'replaced files are still there',
  )
  const ids = await reader.rest()
  t.equal(ids.length, ROWS)
  t.equal(new Set(ids).size, ROWS)
  t.ok(await hasReadPins({ dir, storedAs: STORED_AS }), 'the other one goes on')
  t.notOk(await hasReadPins({ dir, storedAs: 'passages.other' }))
  await tidy(dir, 'cleanup')
  t.ok((await readdir(data)).some((file) => before.includes(file)))
  await killed.kill()
  await tidy(dir, 'cleanup')
  t.notOk(
    (await readdir(data)).some((file) => before.includes(file)),
    'and go afterwards',
  )
  t.same(await readdir(join(dir, 'passages.readings')), [])
})
