import { Field, List, Utf8 } from 'apache-arrow'
import type { Migration } from './step.ts'

/** What a corpus says of a passage beside its text (JSON), and a list of its names and values, which equal ones are found in. */
export const METADATA_COLUMNS = [
  new Field('metadata', new Utf8(), true, new Map([['ARROW:extension:name', 'arrow.json']])),
  new Field('metadata_labels', new List(new Field('item', new Utf8(), true)), true),
] as const

/** Software before this step goes on with the table until metadata is written into it. */
export const passageMetadata: Migration = {
  version: 3,
  name: 'metadata of passages',
  automatic: true,
  up: async (table) => {
    const present = (await table.schema()).fields.map((field) => field.name)
    const missing = METADATA_COLUMNS.filter(({ name }) => !present.includes(name))
    if (missing.length > 0) await table.addEmptyColumns(missing)
  },
}
