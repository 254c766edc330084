import { Type, type Static } from '#typebox'

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
    models: Type.Array(Type.String(), { minItems: 1, description: 'Models of the preset that the row can be asked of.' }),
    options: Type.Optional(OptionsSchema),
    values: Type.Optional(Type.Record(Type.String(), Type.String())),
    metric: Type.Optional(Type.String()),
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
    paper: Type.Enum(['cepe', 'giraffe']),
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
export type PresetRow = Static<typeof RowSchema>
export type PresetColumn = Static<typeof ColumnSchema>
export type PresetModel = Static<typeof ModelSchema>
export type Paper = Preset['paper']
