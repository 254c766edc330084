import { Type, type Static } from '#typebox'
import { Compile } from '#typebox/compile'
import { FileSchema, MANIFEST_FIELDS, ProblemsSchema, RECORD_FIELDS } from '../runner/manifest.ts'

/** Result of one item in one setting. */
const SettingResultSchema = Type.Object({
  setting: Type.String(),
  scores: Type.Record(Type.String(), Type.Number(), { description: 'By metric; perplexities as losses (mean negative log-likelihood).' }),
  output: Type.Optional(Type.String({ description: 'What was generated or chosen.' })),
  expected: Type.Optional(Type.Array(Type.String())),
  prompt_sha256: Type.String({ description: 'Of the token ids of the decoder prompts and the contexts.' }),
  demonstrations: Type.Optional(Type.Array(Type.String(), { description: 'Ids of the demonstrations, in the order of the prompt.' })),
  prompts: Type.Optional(
    Type.Object(
      { decoder: Type.Array(Type.String()), encoder: Type.Array(Type.String()) },
      { description: 'As text, with --dump-prompts.' },
    ),
  ),
  tokens: Type.Object({ decoder: Type.Integer(), encoder: Type.Integer(), generated: Type.Integer() }),
  cached_tokens: Type.Optional(
    Type.Integer({ description: 'Decoder tokens whose keys and values are held at once, where they are not all.' }),
  ),
  ms: Type.Number({ minimum: 0, description: 'Time of the request, encoding included.' }),
})
export type SettingResult = Static<typeof SettingResultSchema>

/** One line of a task's predictions.jsonl. */
const TaskRecordSchema = Type.Object({
  ...RECORD_FIELDS,
  cluster: Type.Optional(
    Type.String({ description: 'The question, item or document that other rows are about too; absent where it is the row itself.' }),
  ),
  results: Type.Array(SettingResultSchema),
})
export type TaskRecord = Static<typeof TaskRecordSchema>

/** The cluster of a row: rows of one cluster are not independent. */
export function clusterOf({ id, cluster = id }: Pick<TaskRecord, 'id' | 'cluster'>): string {
  return cluster
}

/** manifest.json of a task's run. */
const TaskManifestSchema = Type.Object({
  task: Type.String(),
  subject: Type.Object({
    version: Type.Integer({ description: "The task's: the same options give the same scores only under the same version." }),
    options: Type.Record(Type.String(), Type.String()),
    settings: Type.Array(Type.String()),
    files: Type.Array(FileSchema),
    reader: Type.String({ description: 'Model id: name, revision and precision.' }),
    dump_prompts: Type.Optional(Type.Boolean()),
  }),
  model: Type.Optional(
    Type.Object(
      {
        layers: Type.Integer(),
        kv_heads: Type.Integer(),
        head_dim: Type.Integer(),
        encoder_hidden_size: Type.Integer(),
        window: Type.Integer(),
      },
      { description: 'Sizes that the memory of caches is computed from; absent where a service does not tell them.' },
    ),
  ),
  data: Type.Object({ items: Type.Integer(), problems: ProblemsSchema }),
  ...MANIFEST_FIELDS,
})
export type TaskManifest = Static<typeof TaskManifestSchema>

/** Runs of tasks. */
export const TASK_RUNS = { manifest: Compile(TaskManifestSchema), record: Compile(TaskRecordSchema) }
