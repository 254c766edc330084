import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { Type, type Static } from 'typebox'
import { Compile } from 'typebox/compile'
import { at } from '../../base/at.ts'
import { packageRoot } from '../../src/package.ts'
import { CodedError } from '../../base/errors.ts'
import { parseJson } from '../../base/json.ts'
import { list, table, text, type Block } from './blocks.ts'

const TablesSchema = Type.Object({
  source: Type.String(),
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
const validator = Compile(TablesSchema)

/** Names of the published checkpoints in the paper's tables. */
const MODELS: Readonly<Record<string, string>> = {
  'CEPE-LLaMA-2-7B': 'CEPE',
  'Llama-2-7b-hf': 'LLaMA-2',
  'Llama-2-7b-chat-hf': 'LLaMA-2-Chat',
  'CEPED-LLaMA-2-Chat-7B': 'CEPED-LLaMA-2-Chat',
}

/** Reads the tables of a paper. @throws options_invalid if the shipped file is damaged */
export async function readPublishedTables(paper: 'cepe' | 'giraffe' | 'pi' = 'cepe'): Promise<PublishedTables> {
  const file = path.join(packageRoot(), 'eval', 'published', `${paper}.json`)
  const value = parseJson(await readFile(file, 'utf8'))
  if (validator.Check(value)) return value
  throw new CodedError('options_invalid', `${file} holds no published tables: install the project again.`)
}

function cell(value: string | number | boolean | null | undefined): string {
  return value === undefined || value === null ? '-' : String(value)
}

/** The rows of a paper's table for a run's model, and how the run differs from them. */
export function publishedBlocks({ source, tables, doubtful }: PublishedTables, number: string, reader: string): Block[] {
  const found = tables[number]
  const model = MODELS[at(reader.split('@'), 0)]
  const rows = found?.rows.filter((row) => model !== undefined && (row['model'] === undefined || row['model'] === model)) ?? []
  if (found === undefined || rows.length === 0) return [text(`The paper's Table ${number} has no scores of this model.`)]
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))]
  const notes = doubtful.filter((entry) => entry.table === number).map(({ cell, why }) => `Doubtful: ${cell}: ${why}`)
  return [
    text(`Published, for ${model ?? ''}: ${found.what} (${source}, Table ${number}).`),
    table(
      columns,
      rows.map((row) => columns.map((column) => cell(row[column]))),
    ),
    list([
      'Published scores are of 16-bit weights on the data sets that the columns name; a run differs from them in its precision (the end of the model id) and in its data (the files below).',
      ...notes,
    ]),
  ]
}
