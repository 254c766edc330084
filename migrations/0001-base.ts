import { Field, Schema, Utf8 } from 'apache-arrow'
import { MODEL_KEY, SCHEMA_KEY } from '../index/table/metadata.ts'
import type { BaseMigration } from '../index/table/migration.ts'
import { vectorType } from '../index/table/rows.ts'

/** Passages and their float16 vectors. `id` is the key that upserts merge by: without it two writers duplicate rows. */
export const base: BaseMigration = {
  version: 1,
  name: 'passages with float16 vectors',
  create: async (connection, storedAs, model) => {
    const table = await connection.createEmptyTable(
      storedAs,
      new Schema([
        new Field('id', new Utf8(), false, new Map([[SCHEMA_KEY, '1']])),
        new Field('title', new Utf8(), false),
        new Field('text', new Utf8(), false),
        new Field('vector', vectorType(model.dimension), false, new Map([[MODEL_KEY, model.id]])),
      ]),
    )
    await table.setUnenforcedPrimaryKey('id')
    return table
  },
}
