import t from 'tap'
import type { Table as ArrowTable } from 'apache-arrow'
import { writeAlias } from '../../index/versions/alias.ts'
import { contentHash } from '../../index/hash.ts'
import { connectLance, type Table } from '../../index/table/lance.ts'
import { migrateIndex, restoreIndex } from '../../index/versions/migrate-index.ts'
import { createTable } from '../../index/table/create.ts'
import { migrateTable } from '../../index/table/migrate.ts'
import { readMetadata } from '../../index/table/metadata.ts'
import { openIndex } from '../../index/open.ts'
import { arrowTable, packVectors } from '../../index/table/rows.ts'
import type { Passage } from '../../index/contract.ts'
import { arrow } from '../../migrations/arrow.ts'
import { base, type Migration, migrations, SCHEMA_VERSION } from '../../migrations/list.ts'
import { embed, embedText, hashEmbedding, somePassages, tempDir } from '../index/helpers.ts'

/** Steps as a later version of this software could have. */
const STEPS: readonly Migration[] = [
  { version: SCHEMA_VERSION + 1, name: 'authors', automatic: true, up: (table) => addText(table, 'author') },
  { version: SCHEMA_VERSION + 2, name: 'years', automatic: true, up: (table) => addText(table, 'year') },
]
const LAST = SCHEMA_VERSION + STEPS.length

async function addText(table: Parameters<Migration['up']>[0], name: string): Promise<void> {
  if ((await table.schema()).fields.some((field) => field.name === name)) return
  await table.addColumns([new arrow.Field(name, new arrow.Utf8(), true)])
}

async function rowsOf(passages: readonly Passage[]): Promise<ArrowTable> {
  const halves = packVectors(passages, await embed(passages.map((p) => p.text)), hashEmbedding.dimension)
  return arrowTable({ passages, hashes: passages.map(contentHash), halves }, hashEmbedding.dimension)
}

async function baseTable(t: Parameters<typeof tempDir>[0], rows: number): Promise<{ dir: string; table: Table }> {
  const dir = await tempDir(t)
  const connection = await connectLance(dir, 0)
  t.teardown(() => connection.close())
  const table = await createTable(connection, 'passages.old', hashEmbedding)
  await table.add(await rowsOf(somePassages(rows)))
  await writeAlias({ dir, table: 'passages' }, 'passages.old')
  return { dir, table }
}

async function columnsOf(table: Table): Promise<string[]> {
  await table.checkoutLatest()
  return (await table.schema()).fields.map((field) => field.name).sort()
}

const BASE_COLUMNS = ['hash', 'id', 'metadata', 'metadata_labels', 'source', 'text', 'title', 'vector']
const ALL_COLUMNS = [...BASE_COLUMNS, 'author', 'year'].sort()

await t.test('numbers follow each other', (t) => {
  t.same(
    migrations.map((step) => step.version),
    migrations.map((_, i) => base.version + 1 + i),
  )
  t.equal(SCHEMA_VERSION, base.version + migrations.length)
  t.end()
})

await t.test('a new table is current: there is nothing to migrate', async (t) => {
  const { dir, table } = await baseTable(t, 3)
  t.match(await migrateIndex({ dir, table: 'passages' }), { from: SCHEMA_VERSION, to: SCHEMA_VERSION, migrations: [] })
  t.same(await columnsOf(table), BASE_COLUMNS)
})

await t.test('a table is migrated once; a dry run and a second run change nothing', async (t) => {
  const { table } = await baseTable(t, 40)
  const before = await table.version()
  const due = [/authors$/, /years$/]
  t.match(await migrateTable(table, { all: STEPS, dryRun: true }), { from: SCHEMA_VERSION, to: LAST, migrations: due })
  await table.checkoutLatest()
  t.equal(await table.version(), before)
  t.match(await migrateTable(table, { all: STEPS }), { from: SCHEMA_VERSION, to: LAST, restoreTo: before, migrations: due })
  await table.checkoutLatest()
  const after = await table.version()
  t.match(await migrateTable(table, { all: STEPS }), { from: LAST, migrations: [] })
  await table.checkoutLatest()
  t.equal(await table.version(), after)
})

await t.test('an interrupted migration is taken up: columns there, version not yet written', async (t) => {
  const { table } = await baseTable(t, 5)
  for (const step of STEPS) await step.up(table)
  t.equal((await readMetadata(table)).schemaVersion, SCHEMA_VERSION)
  t.match(await migrateTable(table, { all: STEPS }), { from: SCHEMA_VERSION, to: LAST })
  t.equal(await table.countRows(), 5)
})

await t.test('forward while others write, and while another process migrates too', async (t) => {
  const { dir, table } = await baseTable(t, 20)
  const connection = await connectLance(dir, 0)
  t.teardown(() => connection.close())
  const old = await connection.openTable('passages.old')
  const write = async (): Promise<void> => {
    for (let i = 0; i < 10; i++) {
      await old
        .mergeInsert('id')
        .whenMatchedUpdateAll()
        .whenNotMatchedInsertAll()
        .execute(await rowsOf(somePassages(10, 100 + i * 10)))
    }
  }
  const second = await connection.openTable('passages.old')
  await Promise.all([write(), migrateTable(table, { all: STEPS }), migrateTable(second, { all: STEPS })])
  await table.checkoutLatest()
  t.equal(await table.countRows(), 120)
  t.match(await readMetadata(table), { schemaVersion: LAST, requiredVersion: SCHEMA_VERSION }, 'running services go on')
  t.same(await columnsOf(table), ALL_COLUMNS)
})

await t.test('the way back: schema and rows of the version before', async (t) => {
  const { dir, table } = await baseTable(t, 10)
  const { restoreTo } = await migrateTable(table, { all: STEPS })
  const index = await openIndex({ dir, model: hashEmbedding, consistencyMs: 0 })
  await index.upsert([{ id: 'later', title: '', text: 'x' }], [embedText('x')])
  t.equal(await index.count(), 11)
  index.close()
  await restoreIndex({ dir, table: 'passages', version: restoreTo })
  t.same(await columnsOf(table), BASE_COLUMNS)
  t.equal((await readMetadata(table)).schemaVersion, SCHEMA_VERSION)
  t.equal(await table.countRows(), 10)
  await migrateTable(table, { all: STEPS })
  t.same(await columnsOf(table), ALL_COLUMNS)
  await t.rejects(restoreIndex({ dir, table: 'passages', version: 9999 }), { code: 'not_found' })
  await t.rejects(restoreIndex({ dir, table: 'other', version: 1 }), { code: 'index_missing' })
  await t.rejects(migrateIndex({ dir, table: 'other' }), { code: 'index_missing' })
})

await t.test('a step that older software would notice takes it down, and is not taken by itself', async (t) => {
  const { dir, table } = await baseTable(t, 3)
  const [step] = STEPS
  const all = step === undefined ? [] : [{ ...step, automatic: false }]
  t.match(await migrateTable(table, { all }), { automatic: false })
  const index = await openIndex({ dir, model: hashEmbedding })
  t.teardown(() => index.close())
  await t.rejects(index.count(), { code: 'index_invalid', message: /newer software.*sound: update this software/ })
})

await t.test('steps that older software does not notice do not take it down; messages name the remedy', async (t) => {
  const { dir, table } = await baseTable(t, 3)
  const index = await openIndex({ dir, model: hashEmbedding, consistencyMs: 0 })
  t.teardown(() => index.close())
  t.equal(await index.count(), 3)
  await table.checkoutLatest()
  await table.updateFieldMetadata([{ path: 'id', metadata: { 'cepe:schema_reached': '99' } }])
  await index.refresh()
  t.equal(await index.count(), 3, 'a newer service migrated the table; this one goes on')
  await index.upsert([{ id: 'new', title: '', text: 'x' }], [embedText('x')])
  t.match(await migrateIndex({ dir, table: 'passages' }), { migrations: [], to: 99 })
  await table.checkoutLatest()
  await table.updateFieldMetadata([{ path: 'id', metadata: { 'cepe:schema_version': '99' } }])
  await t.rejects(index.refresh(), { code: 'index_invalid', message: /newer software.*sound: update this software/ })
  await table.updateFieldMetadata([{ path: 'id', metadata: { 'cepe:schema_version': String(SCHEMA_VERSION) } }])
  t.equal(await index.count(), 4, 'and heals')
})

await t.test('tables of the future, of before the first release and of other software are refused', async (t) => {
  const { dir, table } = await baseTable(t, 1)
  await table.updateFieldMetadata([{ path: 'id', metadata: { 'cepe:schema_version': '99' } }])
  await t.rejects(migrateIndex({ dir, table: 'passages' }), { code: 'index_invalid', message: /99/ })
  const connection = await connectLance(dir, 0)
  t.teardown(() => connection.close())
  await table.updateFieldMetadata([{ path: 'id', metadata: { 'cepe:schema_version': '2' } }])
  const early = { code: 'index_invalid', message: /schema version 2, which belongs to no release.*again/ }
  await t.rejects(migrateIndex({ dir, table: 'passages' }), early)
  const index = await openIndex({ dir, model: hashEmbedding })
  t.teardown(() => index.close())
  await t.rejects(index.count(), early)
  await connection.createEmptyTable('foreign', new arrow.Schema([new arrow.Field('id', new arrow.Utf8())]))
  await (await connection.openTable('foreign')).add(arrow.tableFromArrays({ id: ['a'] }))
  await writeAlias({ dir, table: 'foreign' }, 'foreign')
  await t.rejects(migrateIndex({ dir, table: 'foreign' }), { code: 'index_invalid', message: /not made by this software/ })
})
