import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import { type Static, Type } from '#typebox'
import { Compile } from '#typebox/compile'
import { CodedError, osCode } from '../../base/errors.ts'
import { parseJson } from '../../base/json.ts'
import { packageRoot } from '../../src/config.ts'

/** Names of the papers whose tables can be run. */
export const PAPERS = { cepe: 'CEPE', giraffe: 'Giraffe', pi: 'Position Interpolation' } as const

/** Tables without a preset, by paper and number, with the reason. */
const isUnavailable = Compile(Type.Record(Type.String(), Type.Record(Type.String(), Type.String())))

function tablesFolder(): string {
  return path.join(packageRoot(), 'eval', 'presets', 'tables')
}

/** Numbers of a paper's tables with a preset, ascending. */
export async function presetTables(paper: Paper): Promise<string[]> {
  const pattern = new RegExp(`^${paper}-(\\d+)\\.json$`)
  const files = await readdir(tablesFolder())
  return files.flatMap((file) => pattern.exec(file)?.[1] ?? []).sort((a, b) => Number(a) - Number(b))
}

/**
 * Reads the preset of one table of a paper.
 * @throws options_invalid for a table without one, with the reason if known
 */
export async function readPreset(paper: Paper, table: string): Promise<Preset> {
  const known = await presetTables(paper)
  if (!known.includes(table)) {
    const reason = (await unavailableTables())[paper]?.[table]
    throw new CodedError('options_invalid', reason ?? `${PAPERS[paper]} has the tables ${known.join(', ')}, not ${JSON.stringify(table)}.`)
  }
  const file = path.join(tablesFolder(), `${paper}-${table}.json`)
  const value = parseJson(await readFile(file, 'utf8'))
  if (isPreset.Check(value)) return value
  const [error] = isPreset.Errors(value)
  throw new CodedError('options_invalid', `${file} is no preset: ${error?.instancePath ?? ''} ${error?.message ?? 'not valid JSON'}.`)
}

async function unavailableTables(): Promise<Readonly<Record<string, Readonly<Record<string, string>>>>> {
  const value = parseJson(await readFile(path.join(tablesFolder(), 'unavailable.json'), 'utf8'))
  return isUnavailable.Check(value) ? value : {}
}

/** Options of a task's command, without dashes. */
const OptionsSchema = Type.Record(Type.String({ pattern: '^[a-z][a-z-]*$' }), Type.String())
const Names = Type.Array(Type.String({ minLength: 1 }))
/** Names with placeholders such as `{block}`, filled in from a row's `values`. */
const Templates = Type.Record(Type.String(), Type.String())

const ModelSchema = Type.Object(
  {
    name: Type.String({ description: 'As the table names it.' }),
    checkpoints: Type.Array(Type.String(), { description: 'Published ones, as owner/name; none where there is no published checkpoint.' }),
    fallback: Type.Optional(
      Type.Enum(['encoder', 'decoder', 'any'], { description: 'Stands for models of no known checkpoint, with or without an encoder.' }),
    ),
  },
  { additionalProperties: false },
)

const RowSchema = Type.Object(
  {
    label: Type.Record(Type.String(), Type.Union([Type.String(), Type.Number()]), {
      description: 'What the row is called; the published row has the same fields.',
    }),
    models: Type.Array(Type.String(), { minItems: 1, description: 'Models of the preset that the row applies to.' }),
    options: Type.Optional(OptionsSchema),
    values: Type.Optional(Type.Record(Type.String(), Type.String())),
    metric: Type.Optional(Type.String()),
    group: Type.Optional(
      Type.Record(Type.String(), Type.String(), { description: 'Score only the items of this group, such as one place of the answer.' }),
    ),
    published: Type.Optional(
      Type.Record(Type.String(), Type.String(), { description: 'By column, where the published table is laid out otherwise.' }),
    ),
  },
  { additionalProperties: false },
)

const ColumnSchema = Type.Object(
  {
    name: Type.String(),
    files: Type.Optional(Templates),
    options: Type.Optional(OptionsSchema),
    metric: Type.Optional(Type.String()),
    mean_of: Type.Optional(Type.Array(Type.String(), { minItems: 1, description: 'Columns that this one averages.' })),
  },
  { additionalProperties: false },
)

/** One table of a paper with the options of its cells. */
export const PresetSchema = Type.Object(
  {
    paper: Type.Enum(['cepe', 'giraffe', 'pi']),
    table: Type.String({ pattern: '^\\d+$' }),
    title: Type.String(),
    task: Type.String({ description: 'Name of a task, or open-domain-qa.' }),
    metric: Type.String({ description: 'Score of a cell, where neither row nor column names another.' }),
    limit: Type.String({ description: 'Option that bounds the items of a cell.' }),
    options: OptionsSchema,
    models: Type.Array(ModelSchema, { minItems: 1 }),
    rows: Type.Array(RowSchema, { minItems: 1 }),
    columns: Type.Array(ColumnSchema, { minItems: 1 }),
    files: Type.Record(Type.String(), Type.Object({ what: Type.String(), from: Type.String() }, { additionalProperties: false }), {
      description: 'By name, without the ending: what is in the file, and where it comes from.',
    }),
    notes: Names,
  },
  { additionalProperties: false },
)
export type Preset = Static<typeof PresetSchema>
const isPreset = Compile(PresetSchema)
export type PresetRow = Static<typeof RowSchema>
export type PresetColumn = Static<typeof ColumnSchema>
export type PresetModel = Static<typeof ModelSchema>
export type Paper = Preset['paper']

/** Extensions of a preset's file, in order of preference. */
const ENDINGS = ['.jsonl', '.jsonl.gz', '.json', '.json.gz', '.parquet', '.csv', '.tsv', '.txt']

/** The data files of a folder by their preset names. @throws options_invalid if the folder does not exist */
export async function dataFiles(folder: string): Promise<(name: string) => string | undefined> {
  const there = new Set(
    await readdir(folder).catch((error: unknown) => {
      if (!['ENOENT', 'ENOTDIR'].includes(osCode(error) ?? '')) throw error
      throw new CodedError('options_invalid', `--data must be a folder with the data files, and ${folder} is not a folder: see --plan.`, {
        cause: error,
      })
    }),
  )
  return (name) => {
    const ending = ENDINGS.find((candidate) => there.has(name + candidate))
    return ending === undefined ? undefined : path.join(folder, name + ending)
  }
}

/** The reader that a preset is run with. */
export interface AskedReader {
  /** Name, revision and precision. */
  readonly id: string
  /** Unknown for a remote service. */
  readonly hasEncoder?: boolean
}

/**
 * Chooses the table's model that the reader represents: `as`, else the model with its checkpoint name, else the model for unknown
 * checkpoints.
 * @throws options_invalid if there is none
 */
export function chooseModel(
  { models, table }: Pick<Preset, 'models' | 'table'>,
  { id, hasEncoder = true }: AskedReader,
  as?: string,
): PresetModel {
  const names = models.map(({ name }) => JSON.stringify(name)).join(', ')
  if (as !== undefined) {
    const named = models.find(({ name }) => name === as)
    if (named === undefined) throw new CodedError('options_invalid', `--as takes ${names}, not ${JSON.stringify(as)}.`)
    return named
  }
  const name = id.split('@')[0]
  const found =
    models.find(({ checkpoints }) => checkpoints.some((checkpoint) => checkpoint.split('/').at(-1) === name)) ??
    models.find(({ fallback }) => fallback === 'any' || fallback === (hasEncoder ? 'encoder' : 'decoder'))
  if (found) return found
  throw new CodedError(
    'options_invalid',
    `Table ${table} has no row for ${id}${hasEncoder ? '' : ', which has no encoder'}: name the represented model with --as (${names}).`,
  )
}
