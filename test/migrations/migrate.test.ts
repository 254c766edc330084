import t from 'tap'
import { Field, Schema, tableFromArrays, Utf8 } from 'apache-arrow'
import { writeAlias } from '../../index/versions/alias.ts'
import { connectLance, type Table } from '../../index/table/lance.ts'
import { migrateIndex, restoreIndex } from '../../index/versions/migrate-index.ts'
import { createBaseTable, createTable } from '../../index/table/create.ts'
import { migrateTable, SCHEMA_VERSION } from '../../index/table/migrate.ts'
import { readMetadata } from '../../index/table/metadata.ts'
import { openIndex } from '../../index/open.ts'
import { packVectors, recordBatch } from '../../index/table/rows.ts'
import type { Passage } from '../../index/contract.ts'
import { base, migrations } from '../../migrations/list.ts'
import { embed, embedText, hashEmbedding, somePassages, tempDir } from '../index/helpers.ts'
import { Table as ArrowTable } from 'apache-arrow'

/** Rows as software of schema version 1 writes them: without the columns that came later. */
async function firstVersionRows(passages: readonly Passage[]): Promise<ArrowTable> {
  const halves = packVectors(passages, await embed(passages.map((p) => p.text)), hashEmbedding.dimension)
  return new ArrowTable([recordBatch({ passages, hashes: [], halves }, hashEmbedding.dimension)]).select(['id', 'title', 'text', 'vector'])
}

async function firstVersion(t: Parameters<typeof tempDir>[0], rows: number): Promise<{ dir: string; table: Table }> {
  const dir = await tempDir(t)
  const connection = await connectLance(dir, 0)
  t.teardown(() => connection.close())
  const table = await createBaseTable(connection, 'passages.old', hashEmbedding)
  await table.add(await firstVersionRows(somePassages(rows)))
  await writeAlias(dir, 'passages', { stored_as: 'passages.old' })
  return { dir, table }
}

async function columnsOf(table: Table): Promise<string[]> {
  await table.checkoutLatest()
  return (await table.schema()).fields.map((field) => field.name).sort()
}

await t.test('numbers follow each other', (t) => {
  t.same(
    [base.version, ...migrations.map((step) => step.version)],
    Array.from({ length: migrations.length + 1 }, (_, i) => i + 1),
  )
  t.equal(SCHEMA_VERSION, migrations.length + 1)
  t.end()
})

await t.test('an old table is migrated once; a dry run and a second run change nothing; it ends as a new one', async (t) => {
  const { dir, table } = await firstVersion(t, 40)
  const before = await table.version()
  t.match(await migrateIndex({ dir, table: 'passages', dryRun: true }), { from: 1, to: SCHEMA_VERSION, steps: [/^0002 /, /^0003 /] })
  await table.checkoutLatest()
  t.equal(await table.version(), before)
  t.match(await migrateIndex({ dir, table: 'passages' }), { from: 1, to: SCHEMA_VERSION, restoreTo: before, steps: [/^0002 /, /^0003 /] })
  await table.checkoutLatest()
  const after = await table.version()
  t.match(await migrateIndex({ dir, table: 'passages' }), { from: SCHEMA_VERSION, steps: [] })
  await table.checkoutLatest()
  t.equal(await table.version(), after)
  const connection = await connectLance(dir, 0)
  const fresh = await createTable(connection, 'fresh.one', hashEmbedding)
  t.same(await columnsOf(table), await columnsOf(fresh))
  t.same(await readMetadata(table), await readMetadata(fresh))
  connection.close()
})

await t.test('an interrupted migration is taken up: columns there, version not yet written', async (t) => {
  const { dir, table } = await firstVersion(t, 5)
  for (const step of migrations) await step.up(table)
  t.equal((await readMetadata(table)).schemaVersion, 1)
  t.match(await migrateIndex({ dir, table: 'passages' }), { from: 1, to: SCHEMA_VERSION })
  t.equal(await table.countRows(), 5)
})

await t.test('forward while others write, and while another process migrates too', async (t) => {
  const { dir, table } = await firstVersion(t, 20)
  const connection = await connectLance(dir, 0)
  t.teardown(() => connection.close())
  const old = await connection.openTable('passages.old')
  const write = async (): Promise<void> => {
    for (let i = 0; i < 10; i++) {
      await old
        .mergeInsert('id')
        .whenMatchedUpdateAll()
        .whenNotMatchedInsertAll()
        .execute(await firstVersionRows(somePassages(10, 100 + i * 10)))
    }
  }
  const second = await connection.openTable('passages.old')
  const reports = await Promise.all([write().then(() => []), migrateTable(table), migrateTable(second)])
  t.equal(reports.length, 3)
  await table.checkoutLatest()
  t.equal(await table.countRows(), 120)
  t.equal((await readMetadata(table)).schemaVersion, SCHEMA_VERSION)
  t.same(await columnsOf(table), ['hash', 'id', 'metadata', 'metadata_labels', 'source', 'text', 'title', 'vector'])
})

await t.test('opening an index migrates by itself; rows from before are known as unchanged by their content', async (t) => {
  const { dir } = await firstVersion(t, 10)
  const index = await openIndex({ dir, model: hashEmbedding, consistencyMs: 0 })
  t.teardown(() => index.close())
  t.equal((await index.info()).schemaVersion, SCHEMA_VERSION)
  t.equal((await index.search(embedText('lagoon'), { k: 3 })).length, 3)
  const unsourced = somePassages(11).map(({ id, title, text }) => ({ id, title, text }))
  t.same(
    (await index.changed(unsourced)).map((p) => p.id),
    ['p10'],
  )
})

await t.test('the way back: schema and rows of the version before', async (t) => {
  const { dir, table } = await firstVersion(t, 10)
  const { restoreTo } = await migrateIndex({ dir, table: 'passages' })
  const index = await openIndex({ dir, model: hashEmbedding, consistencyMs: 0 })
  await index.upsert([{ id: 'later', title: '', text: 'x' }], [embedText('x')])
  t.equal(await index.count(), 11)
  index.close()
  await restoreIndex({ dir, table: 'passages', version: restoreTo })
  t.same(await columnsOf(table), ['id', 'text', 'title', 'vector'])
  t.equal((await readMetadata(table)).schemaVersion, 1)
  t.equal(await table.countRows(), 10)
  await migrateIndex({ dir, table: 'passages' })
  t.same(await columnsOf(table), ['hash', 'id', 'metadata', 'metadata_labels', 'source', 'text', 'title', 'vector'])
  await t.rejects(restoreIndex({ dir, table: 'passages', version: 9999 }), { code: 'not_found' })
  await t.rejects(restoreIndex({ dir, table: 'other', version: 1 }), { code: 'index_missing' })
  await t.rejects(migrateIndex({ dir, table: 'other' }), { code: 'index_missing' })
})

await t.test('steps that older software does not notice do not take it down; messages name the remedy', async (t) => {
  const { dir, table } = await firstVersion(t, 3)
  const index = await openIndex({ dir, model: hashEmbedding, consistencyMs: 0 })
  t.teardown(() => index.close())
  t.equal(await index.count(), 3)
  await table.checkoutLatest()
  await table.updateFieldMetadata([{ path: 'id', metadata: { 'cepe:schema_reached': '99' } }])
  await index.refresh()
  t.equal(await index.count(), 3, 'a newer service migrated the table; this one goes on')
  await index.upsert([{ id: 'new', title: '', text: 'x' }], [embedText('x')])
  t.match(await migrateIndex({ dir, table: 'passages' }), { steps: [], to: 99 })
  await table.checkoutLatest()
  await table.updateFieldMetadata([{ path: 'id', metadata: { 'cepe:schema_version': '99' } }])
  await t.rejects(index.refresh(), { code: 'index_invalid', message: /newer software.*sound: update this software/ })
  await table.updateFieldMetadata([{ path: 'id', metadata: { 'cepe:schema_version': String(SCHEMA_VERSION) } }])
  t.equal(await index.count(), 4, 'and heals')
})

await t.test('tables of the future and of other software are refused', async (t) => {
  const { dir, table } = await firstVersion(t, 1)
  await table.updateFieldMetadata([{ path: 'id', metadata: { 'cepe:schema_version': '99' } }])
  await t.rejects(migrateIndex({ dir, table: 'passages' }), { code: 'index_invalid', message: /99/ })
  const connection = await connectLance(dir, 0)
  t.teardown(() => connection.close())
  await connection.createEmptyTable('foreign', new Schema([new Field('id', new Utf8())]))
  await (await connection.openTable('foreign')).add(tableFromArrays({ id: ['a'] }))
  await writeAlias(dir, 'foreign', { stored_as: 'foreign' })
  await t.rejects(migrateIndex({ dir, table: 'foreign' }), { code: 'index_invalid', message: /not made by this software/ })
})
