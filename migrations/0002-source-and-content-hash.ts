import type { Migration } from './step.ts'

/** Where a passage came from (a filter), and the fingerprint that saves embedding an unchanged passage again. */
export const sourceAndContentHash: Migration = {
  version: 2,
  name: 'source and content hash of passages',
  automatic: true,
  up: async (table) => {
    const present = (await table.schema()).fields.map((field) => field.name)
    const missing = ['source', 'hash'].filter((name) => !present.includes(name))
    if (missing.length > 0) await table.addColumns(missing.map((name) => ({ name, valueSql: 'CAST(NULL AS STRING)' })))
  },
}
