import t, { type Test } from 'tap'
import { stat, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { at } from '../../../base/at.ts'
import { filesUnder } from '../../../base/files-under.ts'
import { syntheticPassage } from '../../fixtures/synthetic-corpus.ts'
import { indexedTable } from '../../fixtures/synthetic-table.ts'
import { openIndex, type PassageIndex } from '../../../index/open.ts'
import { compactionCommand } from '../../../index/compaction/command.ts'
import { embedText, hashEmbedding, tempDir } from '../helpers.ts'

const ROWS = 1200

async function table(t: Test): Promise<string> {
  const dir = await tempDir(t)
  await indexedTable(dir, hashEmbedding, ROWS, (number) => embedText(syntheticPassage(number).text))
  return dir
}

/** The index as a process finds it at its start, and what it was told. */
async function opened(t: Test, dir: string): Promise<{ index: PassageIndex; warnings: string[] }> {
  const warnings: string[] = []
  const index = await openIndex({ dir, model: hashEmbedding, compactAfter: 1_000_000, onWarning: (message) => warnings.push(message) })
  t.teardown(() => index.close())
  return { index, warnings }
}

/** As a power loss leaves a file: there, and empty, cut off, or zeros to its end. */
const LOSSES: Readonly<Record<string, (file: string, bytes: number) => Promise<void>>> = {
  empty: (file) => truncate(file, 0),
  'cut off': (file, bytes) => truncate(file, Math.floor(bytes / 2)),
  zeros: async (file, bytes) => {
    await truncate(file, 0)
    await truncate(file, bytes)
  },
}

/** Damages the file that was written last. */
async function loseNewest(dir: string, folder: string, how = 'empty'): Promise<void> {
  const files = await filesUnder(join(dir, 'passages.bench.lance', folder))
  const made = await Promise.all(files.map(async (file) => ({ file, stats: await stat(file) })))
  made.sort((a, b) => b.stats.mtimeMs - a.stats.mtimeMs)
  const { file, stats } = at(made, 0)
  await LOSSES[how]?.(file, stats.size)
}

function put(index: PassageIndex, id: string): Promise<void> {
  return index.upsert([{ id, title: '', text: `Text of ${id}.` }], [embedText(id)])
}

const LOST = /newest version of .* named .*, which is incomplete.*_quarantine/

for (const how of Object.keys(LOSSES))
  await t.test(`rows whose file is ${how} after a power loss are put aside, and those before them answer`, async (t) => {
    const dir = await table(t)
    const before = await opened(t, dir)
    await put(before.index, 'kept')
    await put(before.index, 'lost')
    before.index.close()
    await loseNewest(dir, 'data', how)
    const { index, warnings } = await opened(t, dir)
    t.equal(await index.count(), ROWS + 1)
    t.match(warnings, [LOST])
    t.equal((await index.get('kept'))?.id, 'kept')
    await put(index, 'lost')
    t.equal((await index.get('lost'))?.id, 'lost', 'and the table takes changes again')
    index.close()
    const again = await opened(t, dir)
    t.equal(await again.index.count(), ROWS + 2, 'the file that no version names is no trouble')
    t.same(again.warnings, [])
  })

for (const how of Object.keys(LOSSES))
  await t.test(`so is a deletion (${how})`, async (t) => {
    const dir = await table(t)
    const before = await opened(t, dir)
    await before.index.delete(['5'])
    before.index.close()
    await loseNewest(dir, '_deletions', how)
    const { index, warnings } = await opened(t, dir)
    t.equal((await index.get('5'))?.id, '5')
    t.match(warnings, [LOST])
  })

/** So many that they are indexed when the table is compacted. */
const PUTS = 30

for (const how of Object.keys(LOSSES))
  await t.test(`and an index (${how})`, async (t) => {
    const dir = await table(t)
    const before = await opened(t, dir)
    for (let i = 0; i < PUTS; i++) await put(before.index, `put${i}`)
    before.index.close()
    await compactionCommand({ dir, table: 'passages', task: 'compact', keepMs: 60_000, dryRun: false })
    await loseNewest(dir, '_indices', how)
    const { index, warnings } = await opened(t, dir)
    t.equal(await index.count(), ROWS + PUTS)
    t.ok(warnings.length > 0)
    const [dense] = await index.search(embedText('put7'), { k: 1 })
    t.equal(dense?.id, 'put7')
    const [words] = await index.searchText('put7', { k: 1 })
    t.equal(words?.id, 'put7')
  })

await t.test('a table of which no version is whole is neither opened nor taken for missing', async (t) => {
  const dir = await table(t)
  const versions = join(dir, 'passages.bench.lance', '_versions')
  for (const file of await filesUnder(versions)) await LOSSES['zeros']?.(file, (await stat(file)).size)
  const { index, warnings } = await opened(t, dir)
  await t.rejects(index.info(), { code: 'index_invalid', message: /is incomplete.*restore the folder from a backup/ })
  t.match(warnings.at(-1), /is incomplete.*no previous version/)
})
