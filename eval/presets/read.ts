import { readdirSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import path from 'node:path'
import { type Static, type TProperties, Type } from 'typebox'
import { osCode } from '../../base/errors.ts'
import { readShipped, shippedPath } from '../datasets/shipped.ts'
import { invalidOption } from '../run/options.ts'

export const PAPERS = { cepe: 'CEPE', giraffe: 'Giraffe', pi: 'Position Interpolation' } as const

/** Tables without a preset, by paper and number, with the reason. */
const UnavailableSchema = Type.Record(Type.String(), Type.Record(Type.String(), Type.String()))

/** Numbers of a paper's tables with a preset, ascending. */
function presetTables(paper: Paper): string[] {
  const pattern = new RegExp(`^${paper}-(\\d+)\\.json$`)
  const files = readdirSync(shippedPath('eval/presets/tables'))
  return files.flatMap((file) => pattern.exec(file)?.[1] ?? []).sort((a, b) => Number(a) - Number(b))
}

/** Reads the preset of one table of a paper. @throws options_invalid for a table without one, with the reason if known */
export function readPreset(paper: Paper, table: string): Preset {
  const known = presetTables(paper)
  if (known.includes(table)) return readShipped(`eval/presets/tables/${paper}-${table}.json`, PresetSchema)
  const reason = readShipped('eval/presets/tables/unavailable.json', UnavailableSchema)[paper]?.[table]
  throw invalidOption(reason ?? `${PAPERS[paper]} has the tables ${known.join(', ')}, not ${JSON.stringify(table)}.`)
}

function strict<Properties extends TProperties>(properties: Properties) {
  return Type.Object(properties, { additionalProperties: false })
}
const Text = Type.String()
/** Options of a task's command, without dashes. */
const OptionsSchema = Type.Optional(Type.Record(Type.String({ pattern: '^[a-z][a-z-]*$' }), Text))

const ModelSchema = strict({
  name: Type.String({ description: 'As the table names it.' }),
  checkpoints: Type.Array(Text, { description: 'Published ones, as owner/name.' }),
  fallback: Type.Optional(
    Type.Enum(['encoder', 'decoder', 'any'], { description: 'Stands for models of no known checkpoint, with or without an encoder.' }),
  ),
})

const RowSchema = strict({
  label: Type.Record(Text, Type.Union([Text, Type.Number()]), { description: 'Fields of the published row.' }),
  models: Type.Array(Text, { minItems: 1, description: 'Models of the preset that the row applies to.' }),
  options: OptionsSchema,
  values: Type.Optional(Type.Record(Text, Text)),
  metric: Type.Optional(Text),
  group: Type.Optional(Type.Record(Text, Text, { description: 'Score only the items of this group, such as one place of the answer.' })),
  published: Type.Optional(Type.Record(Text, Text, { description: 'By column, where the published table is laid out otherwise.' })),
})

const ColumnSchema = strict({
  name: Text,
  files: Type.Optional(Type.Record(Text, Text, { description: "Names, with placeholders such as `{block}` of a row's `values`." })),
  options: OptionsSchema,
  metric: Type.Optional(Text),
  mean_of: Type.Optional(Type.Array(Text, { minItems: 1, description: 'Columns that this one averages.' })),
})

/** One table of a paper with the options of its cells. */
const PresetSchema = strict({
  paper: Type.Enum(['cepe', 'giraffe', 'pi']),
  table: Type.String({ pattern: '^\\d+$' }),
  title: Text,
  task: Type.String({ description: 'Name of a task, or open-domain-qa.' }),
  metric: Type.String({ description: 'Score of a cell, where neither row nor column names another.' }),
  limit: Type.String({ description: 'Option that bounds the items of a cell.' }),
  options: OptionsSchema,
  models: Type.Array(ModelSchema, { minItems: 1 }),
  rows: Type.Array(RowSchema, { minItems: 1 }),
  columns: Type.Array(ColumnSchema, { minItems: 1 }),
  files: Type.Record(Text, strict({ what: Text, from: Text }), { description: 'By name, without the ending.' }),
  notes: Type.Array(Type.String({ minLength: 1 })),
})
export type Preset = Static<typeof PresetSchema>
export type PresetRow = Static<typeof RowSchema>
export type Paper = Preset['paper']

/** Extensions of a preset's file, in order of preference. */
const ENDINGS = ['.jsonl', '.jsonl.gz', '.json', '.json.gz', '.parquet', '.csv', '.tsv', '.txt']

export type PathOf = (name: string) => string | undefined

/** The data files of a folder by their preset names. @throws options_invalid if the folder does not exist */
export async function dataFiles(folder: string): Promise<PathOf> {
  const there = new Set(
    await readdir(folder).catch((error: unknown) => {
      if (!['ENOENT', 'ENOTDIR'].includes(osCode(error) ?? '')) throw error
      throw invalidOption(`--data must be a folder with the data files, and ${folder} is not a folder: see --plan.`, error)
    }),
  )
  return (name) => {
    const ending = ENDINGS.find((candidate) => there.has(name + candidate))
    return ending === undefined ? undefined : path.join(folder, name + ending)
  }
}

/**
 * Chooses the table's model that the reader represents: `as`, else the model with its checkpoint name, else the model for unknown
 * checkpoints.
 * @param id name, revision and precision of the reader; whether it has an encoder is unknown for a remote service
 * @throws options_invalid if there is none
 */
export function chooseModel(
  { models, table }: Pick<Preset, 'models' | 'table'>,
  { id, hasEncoder = true }: { readonly id: string; readonly hasEncoder?: boolean | undefined },
  as?: string,
) {
  const names = models.map(({ name }) => JSON.stringify(name)).join(', ')
  if (as !== undefined) {
    const named = models.find(({ name }) => name === as)
    if (named === undefined) throw invalidOption(`--as takes ${names}, not ${JSON.stringify(as)}.`)
    return named
  }
  const name = id.split('@')[0]
  const found =
    models.find(({ checkpoints }) => checkpoints.some((checkpoint) => checkpoint.split('/').at(-1) === name)) ??
    models.find(({ fallback }) => fallback === 'any' || fallback === (hasEncoder ? 'encoder' : 'decoder'))
  if (found) return found
  const message = `Table ${table} has no row for ${id}${hasEncoder ? '' : ', which has no encoder'}: name the represented model with --as (${names}).`
  throw invalidOption(message)
}
