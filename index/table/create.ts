import { arrow } from '../../migrations/arrow.ts'
import { base } from '../../migrations/list.ts'
import type { EmbeddingModel } from '../contract.ts'
import type { WordLanguage } from '../word-languages.ts'
import { writing, type Connection, type Table } from './lance.ts'
import { MODEL_KEY, SCHEMA_KEY } from './metadata.ts'
import { migrateTable } from './migrate.ts'
import { chooseLanguage, indexWords } from './words.ts'

/** LanceDB's key for this property in the schema. */
const PRIMARY_KEY = 'lance-schema:unenforced-primary-key'

/**
 * Creates an empty table of the current schema. Its full-text indexes exist from the start: words of unindexed rows are only found with
 * them.
 * @param language of its words; by default the one that most texts will be in
 */
export async function createTable(
  connection: Connection,
  storedAs: string,
  model: EmbeddingModel,
  language?: WordLanguage,
): Promise<Table> {
  const said = new Map([
    ['id', new Map([[SCHEMA_KEY, String(base.version)]])],
    ['vector', new Map([[MODEL_KEY, model.id]])],
  ])
  const fields = base
    .schema(model.dimension)
    .fields.map(({ name, type, nullable, metadata }) => new arrow.Field(name, type, nullable, said.get(name) ?? metadata))
  const table = await connection.createEmptyTable(storedAs, new arrow.Schema(fields))
  // Upserts merge by this key: without it two concurrent writers would duplicate rows.
  await writing(table, async () => {
    // Setting it twice is an error, and the response to the first attempt may have been lost.
    const { fields: made } = await table.schema()
    if (!made.some(({ metadata }) => metadata.has(PRIMARY_KEY))) await table.setUnenforcedPrimaryKey('id')
  })
  await migrateTable(table)
  if (language !== undefined) await chooseLanguage(table, language)
  await indexWords(table)
  return table
}
