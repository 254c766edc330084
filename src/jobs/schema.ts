import { Type, type Static } from '#typebox'
import { STAGES } from '../../index/stages.ts'
import { MADE_IDS } from '../../index/read/column-map.ts'
import { FORMATS, SPLIT_WORDS } from '../../index/read/contract.ts'
import { FilesSchema } from './folder/summary.ts'

export const JOB_STATES = ['queued', 'planning', 'indexing', 'verifying', 'done', 'failed', 'stopped', 'cancelled'] as const
const JobStateSchema = Type.Enum([...JOB_STATES], {
  description:
    'queued: waits for its turn. planning: the corpus is read and checked. indexing: passages are embedded and committed. verifying: read back, indexed, recall measured. done. failed: the corpus was refused, nothing was indexed. stopped: met an obstacle (full disk, no embedder, vectors or recall that do not pass), keeps its work and goes on when resumed. cancelled.',
})
export type JobState = Static<typeof JobStateSchema>

/** True for states that change only on request. */
export function isSettled(state: JobState): boolean {
  return ['done', 'failed', 'stopped', 'cancelled'].includes(state)
}

/** Default of `max_rejected_share`. */
export const DEFAULT_REJECTED_SHARE = 0.01

const LABEL_CHARACTERS = 500
const COLUMNS_CHARACTERS = 2000

export const JobOptionsSchema = Type.Object(
  {
    replace: Type.Optional(
      Type.Boolean({
        description:
          'The table is to hold this corpus and nothing else. It is built beside the live one, which answers until the new one is verified. Default: passages are added, those of known ids replaced.',
      }),
    ),
    format: Type.Optional(Type.Enum([...FORMATS], { description: 'Detected from the content by default.' })),
    split_words: Type.Optional(
      Type.Integer({
        minimum: SPLIT_WORDS.least,
        maximum: SPLIT_WORDS.most,
        description:
          'Cut documents into passages of about so many words (100 in the literature), at sentence ends; ids become `doc#1`, `doc#2`, ... Default: each row is a passage; of documents 100 words.',
      }),
    ),
    columns: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: COLUMNS_CHARACTERS,
        description:
          'Tables: which columns (members of JSON objects, `a.b` for nested ones) are id, text, title, source, metadata and metadata.<name>: `text=content,id=docid,title=name`. Numbers from 1 for TSV and CSV without a header: `id=1,text=2`. Fields that are not named keep the columns of their own names; without an id, one is made of what the row says.',
      }),
    ),
    ids: Type.Optional(
      Type.Enum([...MADE_IDS], {
        description:
          'Tables: make the ids, `file#...`: of the line number, or of a hash of title and text. Default: the rows have their own.',
      }),
    ),
    encoding: Type.Optional(
      Type.String({
        pattern: '^[\\w.:-]{1,40}$',
        description:
          'Encoding of texts and tables that are not UTF-8 and declare none (`windows-1252`, `shift_jis`). Default: that of the file in its content type; of documents as detected, which the report says.',
      }),
    ),
    no_quotes: Type.Optional(
      Type.Boolean({ description: 'TSV and CSV: treat quotes as ordinary characters. Default: fields may be quoted as in CSV.' }),
    ),
    no_metadata: Type.Optional(
      Type.Boolean({
        description:
          'Ignore the metadata of the rows. Default: it is stored; nested fields are left out and counted in `warnings`, and a row whose metadata does not fit is rejected.',
      }),
    ),
    label: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: LABEL_CHARACTERS,
        description:
          "Source of passages that name none of their own; of documents it stands in front of each source (`label/path`). Default: the file's name, and of documents the path in their folder.",
      }),
    ),
    max_rejected_share: Type.Optional(
      Type.Number({
        minimum: 0,
        maximum: 1,
        description:
          'The job fails, with nothing indexed, if a larger share of lines is rejected. Default: 0.01; of documents any share of files may be left out.',
      }),
    ),
    delete_missing: Type.Optional(
      Type.Boolean({
        description:
          'Delete the passages of files that earlier jobs of the same folder found and this one does not; of uploads, jobs of the same label.',
      }),
    ),
    strict: Type.Optional(Type.Boolean({ description: 'The job fails, with nothing indexed, if a line is rejected or a file left out.' })),
  },
  { additionalProperties: false },
)
export type JobOptions = Static<typeof JobOptionsSchema>

/** Share of lines that may be rejected. */
export function rejectedShare({ strict, max_rejected_share: share = DEFAULT_REJECTED_SHARE }: JobOptions): number {
  return strict === true ? 0 : share
}

const RejectSchema = Type.Object({
  file: Type.Optional(Type.String({ description: 'Path of the file, where the corpus is several.' })),
  line: Type.Integer({ description: '0 for a whole file.' }),
  lines: Type.Optional(Type.Integer()),
  reason: Type.String(),
  detail: Type.String(),
})

const CountersSchema = Type.Object({
  read: Type.Integer({
    description: 'Lines of the source that were read, rejected ones included; header and blank lines apart. Of documents: files.',
  }),
  rejected: Type.Integer({ description: 'Lines not accepted, or files left out; the report says why.' }),
  accepted: Type.Integer({ description: 'Passages to index; 0 until the corpus is planned.' }),
  embedded: Type.Integer({ description: 'Passages embedded by this job, or for it.' }),
  skipped: Type.Integer({ description: 'Passages known already, unchanged: not embedded again.' }),
  committed: Type.Integer({ description: 'Passages durably in the table, skipped ones included.' }),
})

const StageSchema = Type.Object({
  name: Type.Enum(['fetching pages', 'reading the source', ...STAGES]),
  share: Type.Number({
    minimum: 0,
    maximum: 1,
    description: 'Of the stage that is done; of work that cannot be counted, as expected by time.',
  }),
})

const WebSourceSchema = Type.Object(
  {
    urls: Type.Array(Type.String(), { description: 'Pages and sitemaps.' }),
    hosts: Type.Optional(Type.Array(Type.String(), { description: 'Hosts that may be fetched. Absent: any of the public internet.' })),
    private: Type.Optional(Type.Literal(true, { description: 'Private addresses may be fetched too.' })),
  },
  { description: 'The files are pages of the web; the path is null.' },
)
export type WebSource = Static<typeof WebSourceSchema>

/** Version of the job records that this software reads and writes. */
export const JOB_VERSION = 1

/** A job, as stored in its folder and returned by the API. */
export const JobSchema = Type.Object(
  {
    version: Type.Integer({ description: 'Of the record.' }),
    id: Type.String(),
    table: Type.String(),
    model: Type.String({ description: 'Embedding model that it was ordered with: only processes of that model take it up.' }),
    state: JobStateSchema,
    source: Type.Object({
      name: Type.String({ description: 'Name of the file or upload.' }),
      path: Type.Union([Type.String(), Type.Null()], {
        description:
          'Begins with the name of the setting of a folder: `(CEPE_IMPORT_DIR)/handbook`. Null for an upload, which was planned as it came in, and for passages of the table itself.',
      }),
      place: Type.Optional(
        Type.Literal(true, {
          description: 'The path is a shard folder: a corpus planned by `cepe index plan`, with vectors of embed workers.',
        }),
      ),
      reembed: Type.Optional(Type.Literal(true, { description: "The passages are the table's own, to be embedded with another model." })),
      files: Type.Optional(
        Type.Object(
          {
            only: Type.Optional(Type.Array(Type.String(), { description: 'Names of files; absent for all of the folder.' })),
            tables: Type.Optional(Type.Literal(true, { description: 'Tables in the folder are read with its documents.' })),
            web: Type.Optional(WebSourceSchema),
            uploaded: Type.Optional(Type.Literal(true, { description: 'The files came as an upload; the path is null.' })),
          },
          { description: 'The source is several files: the path is their folder.' },
        ),
      ),
    }),
    options: JobOptionsSchema,
    created_at: Type.String(),
    finished_at: Type.Union([Type.String(), Type.Null()]),
    counters: CountersSchema,
    files: Type.Optional(FilesSchema),
    rate: Type.Union([Type.Number(), Type.Null()], { description: 'Recent passages per second.' }),
    eta_s: Type.Union([Type.Number(), Type.Null()], {
      description: 'Seconds until the last passage is committed, at that rate; of planning and verifying, until the end of the stage.',
    }),
    stage: Type.Optional(
      Type.Union([StageSchema, Type.Null()], { description: 'Of planning and verifying; null where nothing is known of it.' }),
    ),
    recent_rejects: Type.Array(RejectSchema, { description: 'The latest rejected lines; all of them are in the report.' }),
    warnings: Type.Array(Type.String()),
    error: Type.Union([Type.Object({ code: Type.String(), message: Type.String() }), Type.Null()]),
    result: Type.Union([
      Type.Object({
        rows: Type.Integer({ description: 'Passages in the table.' }),
        recall: Type.Union([Type.Number(), Type.Null()], {
          description:
            'Measured recall@10 of the vector index, by stored vectors and by questions the lower; null where every vector is compared.',
        }),
      }),
      Type.Null(),
    ]),
  },
  { title: 'IndexJob' },
)
export type Job = Static<typeof JobSchema>

export const JOB_ID = '^[0-9]{8}T[0-9]{9}-[0-9a-f]{4}$'
