import { Type, type Static } from 'typebox'
import { optionalBoolean, optionalEnum, optionalInteger, optionalName, optionalNumber, optionalOrNull, orNull } from '../../text/fields.ts'
import { conflict } from '../../../base/errors.ts'
import { CountersSchema } from '../../../index/ingest/plan/contract.ts'
import { STAGES } from '../../../index/stages.ts'
import { MADE_IDS } from '../../../index/read/column-map.ts'
import { FILE_PROBLEMS, FORMATS, SPLIT_WORDS } from '../../../index/read/contract.ts'

export const JOB_STATES = ['queued', 'planning', 'indexing', 'verifying', 'done', 'failed', 'stopped', 'cancelled'] as const
const JobStateSchema = Type.Enum([...JOB_STATES], {
  description:
    'queued, planning (reading the corpus), indexing (embedding and committing), verifying, done, failed (nothing indexed), stopped (resumable, for example a full disk) or cancelled.',
})
export type JobState = Static<typeof JobStateSchema>

/** True for states that change only on request. */
export function isSettled(state: JobState): boolean {
  return isFinal(state) || state === 'stopped'
}

/** True for states that never change: the job's data is gone. */
export function isFinal(state: JobState): boolean {
  return state === 'done' || state === 'failed' || state === 'cancelled'
}

export const JobOptionsSchema = Type.Object(
  {
    replace: optionalBoolean(
      'Replace all passages. A new table is built and verified while the current one serves. Default: false, passages are added and those with existing ids replaced.',
    ),
    format: optionalEnum(FORMATS, 'Format of the corpus. Default: detected from the content.'),
    split_words: optionalInteger(
      [SPLIT_WORDS.least, SPLIT_WORDS.most],
      'Split texts at sentence ends into passages of about this many words, with ids `doc#1`, `doc#2`, ... Default: 100 for documents; rows of tables are not split.',
    ),
    columns: optionalName(
      2000,
      'Tables: columns or JSON members for id, text, title, source, metadata and metadata.<name>, such as `text=content,id=docid`; numbers from 1 without a header.',
    ),
    ids: optionalEnum(
      MADE_IDS,
      'Tables: generate ids `file#...` from the line number or from a hash of title and text. Default: the ids of the rows.',
    ),
    encoding: Type.Optional(
      Type.String({
        pattern: '^[\\w.:-]{1,40}$',
        description:
          'Encoding of files that are not UTF-8 and declare none, such as `windows-1252`. Default: the charset of the content type; detected for documents, with a warning in the report.',
      }),
    ),
    no_quotes: optionalBoolean('TSV and CSV: treat quotes as ordinary characters. Default: quoted fields as in CSV.'),
    no_metadata: optionalBoolean(
      "Ignore the rows' metadata. Default: metadata is stored; nested fields are dropped and counted in `warnings`, rows with invalid metadata are rejected.",
    ),
    label: optionalName(
      500,
      'Source of passages that name none; prefix of the sources of documents (`label/path`). Default: the file name; the path in the folder for documents.',
    ),
    max_rejected_share: optionalNumber(
      [0, 1],
      'Maximum share of rejected lines; above it the job fails and nothing is indexed. Default: 0.01; no limit for skipped documents.',
    ),
    delete_missing: optionalBoolean(
      'Delete passages of files that earlier jobs of the same folder (uploads: of the same label) indexed and that no longer exist.',
    ),
    strict: optionalBoolean(
      'Fail the job, with nothing indexed, if a line is rejected or a file skipped. Not together with `max_rejected_share`.',
    ),
  },
  { additionalProperties: false },
)
export type JobOptions = Static<typeof JobOptionsSchema>

/** Share of a corpus's lines, or of a folder's files, that may be rejected. @param byDefault 1 for files, all of which may be rejected */
export function rejectedShare({ strict, max_rejected_share: share }: JobOptions, byDefault = 0.01): number {
  return strict === true ? 0 : (share ?? byDefault)
}

const RejectSchema = Type.Object({
  file: Type.Optional(Type.String({ description: 'Path of the file in a corpus of several files.' })),
  line: Type.Integer({ description: 'Line number; 0 for a whole file.' }),
  lines: Type.Optional(Type.Integer()),
  reason: Type.String(),
  detail: Type.String(),
})

const FilesSchema = Type.Object({
  indexed: Type.Integer({ description: 'Files with indexed passages.' }),
  left_out: Type.Array(
    Type.Object({
      kind: Type.String({ description: 'File extension; `page` for web pages.' }),
      reason: Type.Enum([...FILE_PROBLEMS]),
      files: Type.Integer(),
    }),
    { description: 'Skipped files by kind and reason; the report lists each.' },
  ),
  gone: Type.Optional(
    Type.Object(
      { files: Type.Integer(), passages: Type.Integer({ description: 'Passages deleted with them.' }) },
      { description: 'Previously indexed files that are gone (`delete_missing`) or have no text now.' },
    ),
  ),
})
export type Files = Static<typeof FilesSchema>

const StageSchema = Type.Object({
  name: Type.Enum(['fetching pages', 'reading the source', ...STAGES]),
  share: Type.Number({
    minimum: 0,
    maximum: 1,
    description: 'Share of the stage that is complete, from 0 to 1; estimated from time if not countable.',
  }),
})

const WebSourceSchema = Type.Object(
  {
    urls: Type.Array(Type.String(), { description: 'URLs of pages and sitemaps.' }),
    hosts: Type.Optional(Type.Array(Type.String(), { description: 'Hosts that may be fetched; absent for the whole public internet.' })),
    private: Type.Optional(Type.Literal(true, { description: 'True if private addresses may be fetched.' })),
  },
  { description: 'Set if the files are web pages; the path is null.', additionalProperties: false },
)
export type WebSource = Static<typeof WebSourceSchema>

export const JOB_VERSION = 1

/** A job, as stored in its folder and returned by the API. */
export const JobSchema = Type.Object(
  {
    version: Type.Integer({ description: 'Version of the record.' }),
    id: Type.String(),
    table: Type.String(),
    model: Type.String({ description: 'Model id of the job: only processes with that retriever run it.' }),
    state: JobStateSchema,
    source: Type.Object(
      {
        name: Type.String({ description: 'Name of the file or upload.' }),
        path: orNull(
          Type.String(),
          'Path, starting with the setting of its folder: `$CEPE_IMPORT_DIR/handbook`. Null for uploads and re-embedding.',
        ),
        place: Type.Optional(
          Type.Literal(true, { description: 'True if the path is a shard folder of `cepe index plan` with vectors of embed workers.' }),
        ),
        reembed: Type.Optional(Type.Literal(true, { description: "True if the job embeds the table's own passages with another model." })),
        files: Type.Optional(
          Type.Object(
            {
              only: Type.Optional(Type.Array(Type.String(), { description: 'Names of the files; absent for the whole folder.' })),
              tables: Type.Optional(Type.Literal(true, { description: 'True if tables in the folder are indexed too.' })),
              web: Type.Optional(WebSourceSchema),
              uploaded: Type.Optional(Type.Literal(true, { description: 'True if the files were uploaded; the path is null.' })),
            },
            { description: 'Set if the source has several files; the path is their folder.', additionalProperties: false },
          ),
        ),
      },
      { additionalProperties: false },
    ),
    options: JobOptionsSchema,
    created_at: Type.String(),
    finished_at: orNull(Type.String()),
    counters: CountersSchema,
    files: Type.Optional(FilesSchema),
    rate: orNull(Type.Number(), 'Passages per second, recent average.'),
    eta_s: orNull(Type.Number(), 'Estimated seconds until the last commit; while planning or verifying, until the end of the stage.'),
    stage: optionalOrNull(StageSchema, 'Progress of planning and verifying; null if unknown.'),
    recent_rejects: Type.Array(RejectSchema, { description: 'Most recent rejected lines; the report contains all.' }),
    warnings: Type.Array(Type.String()),
    error: orNull(Type.Object({ code: Type.String(), message: Type.String() })),
    result: orNull(
      Type.Object({
        rows: Type.Integer({ description: 'Passages in the table.' }),
        recall: orNull(
          Type.Number(),
          'Measured recall@10 of the vector index, the lower of stored vectors and questions; null for exact search.',
        ),
      }),
    ),
  },
  { title: 'IndexJob' },
)
export type Job = Static<typeof JobSchema>

/** The job in another state. @throws conflict for a job in a final state */
export function moved(job: Job, state: JobState, part: Partial<Job> = {}): Job {
  checkOpen(job)
  const ended = isSettled(state)
  return { ...job, ...part, state, finished_at: ended ? new Date().toISOString() : null, ...(ended && { eta_s: null, stage: null }) }
}

/** @throws conflict for a job in a final state */
export function checkOpen({ id, state }: Pick<Job, 'id' | 'state'>): void {
  if (isFinal(state)) throw conflict('id', `The job ${id} is ${state} already.`)
}

export const JOB_ID = '^[0-9]{8}T[0-9]{9}-[0-9a-f]{4}$'
