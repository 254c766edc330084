import { Type, type Static } from 'typebox'
import { at } from '../../base/at.ts'
import { readShipped } from '../datasets/shipped.ts'
import { list, table, text, type Block } from './blocks.ts'

const TablesSchema = Type.Object({
  source: Type.String(),
  checkpoints: Type.Optional(Type.Record(Type.String(), Type.String(), { description: 'Name in the tables, by published checkpoint.' })),
  question_models: Type.Optional(
    Type.Record(Type.String(), Type.Object({ method: Type.String(), checkpoints: Type.Array(Type.String()) }), {
      description: "Mode and checkpoints, by name in Table 7: a CEPE model's decoder is LLaMA-2, frozen.",
    }),
  ),
  tables: Type.Record(
    Type.String(),
    Type.Object({
      what: Type.String(),
      rows: Type.Array(Type.Record(Type.String(), Type.Union([Type.String(), Type.Number(), Type.Boolean(), Type.Null()]))),
    }),
  ),
  doubtful: Type.Array(Type.Object({ table: Type.String(), cell: Type.String(), why: Type.String() })),
})
export type PublishedTables = Static<typeof TablesSchema>

/** Reads the tables of a paper. @throws options_invalid if the shipped file is damaged */
export function readPublishedTables(paper: 'cepe' | 'giraffe' | 'pi' = 'cepe'): PublishedTables {
  return readShipped(`eval/published/${paper}.json`, TablesSchema)
}

/** A published value as printed; undefined for none. */
export function printedValue(value: unknown): string | undefined {
  return typeof value === 'number' || typeof value === 'string' || typeof value === 'boolean' ? String(value) : undefined
}

/** The rows of the CEPE paper's table for a run's model, and how the run differs from them. */
export function publishedBlocks(number: string, reader: string): Block[] {
  const { source, tables, doubtful, checkpoints } = readPublishedTables()
  const found = tables[number]
  const model = checkpoints?.[at(reader.split('@'), 0)]
  const rows = found?.rows.filter((row) => model !== undefined && (row['model'] === undefined || row['model'] === model)) ?? []
  if (found === undefined || rows.length === 0) return [text(`The paper's Table ${number} has no scores of this model.`)]
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))]
  const notes = doubtful.filter((entry) => entry.table === number).map(({ cell, why }) => `Doubtful: ${cell}: ${why}`)
  return [
    text(`Published, for ${model ?? ''}: ${found.what} (${source}, Table ${number}).`),
    table(
      columns,
      rows.map((row) => columns.map((column) => printedValue(row[column]) ?? '-')),
    ),
    list([
      'Published scores are of 16-bit weights on the data sets that the columns name; a run differs from them in its precision (which the model id names) and in its data (the files below).',
      ...notes,
    ]),
  ]
}
