import os from 'node:os'
import { type Static, Type } from 'typebox'
import { Compile } from 'typebox/compile'
import { CodedError, type ErrorCode } from '../../base/errors.ts'
import { type Problem, ProblemLog, ProblemSchema } from '../datasets/question-set.ts'
import { packageVersion } from '../../src/package.ts'

export const FileSchema = Type.Object({ file: Type.String(), sha256: Type.String() })
export const ProblemsSchema = Type.Array(ProblemSchema)

/** Fields of every manifest besides the task's: of a remote service, the environment is the asking machine's. */
export const MANIFEST_FIELDS = {
  environment: Type.Object({
    client: Type.String(),
    version: Type.String(),
    node: Type.String(),
    platform: Type.String(),
    cpu: Type.String(),
    cores: Type.Integer(),
    memory_gb: Type.Number(),
  }),
  started_at: Type.String(),
  resumed: Type.Array(Type.Object({ at: Type.String(), index_version: Type.Union([Type.Integer(), Type.Null()]) }), {
    description: 'Compaction gives an index a new version without another passage, so that the version may differ.',
  }),
}
const ManifestFieldsSchema = Type.Object(MANIFEST_FIELDS)
export type ManifestFields = Static<typeof ManifestFieldsSchema>

/** Values of {@link MANIFEST_FIELDS} for a new run. */
export function startedNow(client: { readonly name: string }): ManifestFields {
  return {
    environment: {
      client: client.name,
      version: packageVersion(),
      node: process.version,
      platform: `${process.platform} ${process.arch}`,
      cpu: os.cpus()[0]?.model.trim() ?? 'unknown',
      cores: os.availableParallelism(),
      memory_gb: Math.round(os.totalmem() / 2 ** 30),
    },
    started_at: new Date().toISOString(),
    resumed: [],
  }
}

const SkippedSchema = Type.Object({
  code: Type.String(),
  message: Type.String(),
  setting: Type.Union([Type.String(), Type.Null()], { description: 'Where it failed; null: before the first answer.' }),
  retry: Type.Boolean({ description: 'The service failed, not the item: a resumed run asks again.' }),
})
export type Skipped = Static<typeof SkippedSchema>

/** Fields of every record besides the task's. */
export const RECORD_FIELDS = {
  id: Type.String(),
  groups: Type.Record(Type.String(), Type.String(), { description: 'Values by which scores are broken down.' }),
  skipped: Type.Optional(SkippedSchema),
}

/** Errors of one item: it is skipped and counted. */
const ITEM_CODES: readonly ErrorCode[] = ['invalid_request', 'unprocessable', 'payload_too_large']
/** Failures of the service at one item: it is skipped, and retried by a resumed run. */
const FAILURE_CODES: readonly ErrorCode[] = ['inference_failed', 'deadline_exceeded', 'internal']
/** Errors that concern one item only. */
export const ONE_ITEM_CODES: readonly ErrorCode[] = [...ITEM_CODES, ...FAILURE_CODES]

/** True if the service failed at one item, so that a retry may succeed. */
export function isFailure(error: unknown): boolean {
  return error instanceof CodedError && FAILURE_CODES.includes(error.code)
}

/** Returns why an item is skipped. @throws the error itself if it concerns more than this item */
export function skippedFor(error: unknown, setting: string | null): Skipped {
  if (!(error instanceof CodedError) || !ONE_ITEM_CODES.includes(error.code)) throw error
  return { code: error.code, message: error.message, setting, retry: isFailure(error) }
}

/** Skipped items by reason, with a few of their ids. */
export function skippedProblems(
  records: readonly { readonly id: string; readonly skipped?: Skipped }[],
  kindOf: (skipped: Skipped) => string,
): Problem[] {
  const problems = new ProblemLog()
  for (const { id, skipped } of records) if (skipped) problems.add(kindOf(skipped), id)
  return problems.list()
}

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

export const TASK_RUNS = { manifest: Compile(TaskManifestSchema), record: Compile(TaskRecordSchema) }
