import { Type, type Static } from 'typebox'

function text(description: string, value: string) {
  return Type.String({ description, default: value })
}
function integer(description: string, value: number, minimum: number, maximum: number) {
  return Type.Integer({ description, default: value, minimum, maximum })
}

export const DEFAULT_DTYPE = 'f32'

/** Nothing, or a path such as `/qa`. One that begins like the routes' own could not be told from them. */
export const BASE_PATH = '^$|^(?!/(v1|docs)(/|$))(/[A-Za-z0-9_][A-Za-z0-9._~-]*)+$'

/** A table's name: it is part of file names, and of addresses in an object store. */
export const TABLE_NAME = '^[A-Za-z][A-Za-z0-9_-]{0,63}$'

/**
 * Every setting of the service: an environment variable `CEPE_<NAME>`, also read from `.env` in the working folder.
 * docs/configuration.md shows this schema as a table (a test compares them); config.ts reads it.
 */
export const ConfigSchema = Type.Object({
  HOST: Type.String({ description: 'Address to listen on.', default: '127.0.0.1', pattern: '\\S' }),
  PORT: integer('Port to listen on; 0 takes a free one. Where it is not set, `PORT` is honoured.', 8080, 0, 65535),
  READER_CHECKPOINT: text(
    'Checkpoint folder of the reader (Hugging Face layout) or GGUF file, built into READER_DIR when that is missing or older. Without a default where READER_DIR is set.',
    'models/reader/checkpoint/smollm2-135m-qa',
  ),
  READER_DIR: text(
    'Built reader (graphs and manifest). Where only READER_CHECKPOINT is set: `models/built/<its name>-<dtype>`.',
    'models/built/reader',
  ),
  RETRIEVER_CHECKPOINT: text(
    'Checkpoint folder of the retriever (Contriever). Without a default where RETRIEVER_DIR is set.',
    'models/tiny/checkpoint/contriever',
  ),
  RETRIEVER_DIR: text('Built retriever. Where only RETRIEVER_CHECKPOINT is set: `models/built/<its name>-f32`.', 'models/built/contriever'),
  FURTHER_RETRIEVERS: text(
    'Folders of further built retrievers, separated by commas: tables made with any of them are searched and changed too, so that one retriever can take the place of another while questions are answered. Each is loaded at the start.',
    '',
  ),
  RERANKER_DIR: text(
    'Built cross-encoder that orders passages (`rerank: true`, `POST /v1/rerank`, `POST /rerank`). Where it is not set, the reader does.',
    '',
  ),
  DTYPE: Type.Enum(['f32', 'int8', 'int8-blocks', 'int8+int4', 'int4', 'f16', 'f16-int4'], {
    description: 'Precision in which a missing reader is built. The shipped reader: int8-blocks on the CPU where this is not set.',
    default: DEFAULT_DTYPE,
  }),
  PROVIDER: Type.Enum(['cpu', 'cuda'], { description: 'Where the graphs run.', default: 'cpu' }),
  DEVICE_ID: integer('CUDA device.', 0, 0, 63),
  CPU_FALLBACK: Type.Boolean({
    description: 'With PROVIDER=cuda: run on the CPU if CUDA is not available, instead of refusing to start.',
    default: false,
  }),
  ROLE: Type.Enum(['all', 'replica', 'indexer'], {
    description:
      'What this process does: `all`; `replica` answers questions and writes nothing into INDEX_DIR (routes that change or administer answer 404); `indexer` changes the index and runs its jobs, without a reader.',
    default: 'all',
  }),
  DATA_DIR: Type.Optional(
    Type.String({
      description:
        'Folder of what is made here: `models/`, `index/` and `keys/` in it are the defaults of READER_DIR, RETRIEVER_DIR, INDEX_DIR and KEYS_DIR, in place of folders of the package.',
      minLength: 1,
    }),
  ),
  INDEX_DIR: text('Folder of the LanceDB index, or its address in an object store (`s3://bucket/prefix`).', 'index/data'),
  MIRROR_DIR: Type.Optional(
    Type.String({
      description:
        'Replicas: folder on a local disk that the table is copied to and answered from, also while INDEX_DIR is away; without one INDEX_DIR is read.',
      minLength: 1,
    }),
  ),
  MIRROR_MB: integer(
    'Limit for the tables in MIRROR_DIR, in megabytes. A table that does not fit is not copied: the previous copy keeps serving, and readiness reports it.',
    100_000,
    1,
    1_000_000_000,
  ),
  TABLE: Type.String({
    description: 'Table that questions are answered from.',
    default: 'passages',
    pattern: TABLE_NAME,
  }),
  CORPUS: text(
    'Passages (psgs_w100.tsv shape or JSONL) indexed at the first start when the table is missing; empty for none. Without a default where another index, table or retriever is set.',
    'index/corpus/passages.tsv',
  ),
  DEMONSTRATIONS: text(
    'JSONL of worked examples ({question, answer, title, text}) placed in front of questions; empty for none.',
    'index/corpus/demonstrations.jsonl',
  ),
  CALIBRATION: Type.Optional(
    Type.String({
      description:
        'What `cepe calibrate` wrote: turns what is known of an answer into its probability of being right; empty for none. Default: `calibration.<table>.json` in INDEX_DIR, else the shipped one, each only where it is of the reader in service.',
    }),
  ),
  FEEDBACK: Type.Optional(
    Type.String({
      description:
        'File that feedback on answers is appended to, as JSON lines that `cepe calibrate` and `cepe eval` read. Default: none, and the route is off.',
    }),
  ),
  FEEDBACK_MB: integer('Most that the file of feedback may take; more is answered 507.', 64, 1, 100_000),
  MIN_CONFIDENCE: Type.Optional(
    Type.Number({
      description:
        'Least probability of being right (confidence, where there is no calibration) of an answer; one below it is withheld. 0 withholds none. Default: 0.5 where a calibration gives a probability, else none is withheld.',
      minimum: 0,
      maximum: 1,
    }),
  ),
  ADMIN_KEY: Type.Optional(
    Type.String({
      description:
        'A key of the admin routes (`Authorization: Bearer <key>`), beside those of `cepe keys`; the routes are off without any.',
      minLength: 16,
    }),
  ),
  KEYS_DIR: text("Folder of the keys made by `cepe keys`; all services that share it count a key's questions together.", 'keys'),
  ALLOW_OPEN: Type.Boolean({
    description: 'Answer without user keys on an address that other machines reach; without this the service then refuses to start.',
    default: false,
  }),
  ALLOWED_HOSTS: text(
    'Further names that a service without user keys is asked by (`Host`), separated by commas. On a loopback address, and on any where names are given, all but these, localhost, 127.0.0.1 and [::1] are answered 421.',
    '',
  ),
  CORS_ORIGINS: text(
    "Origins whose pages may ask from a browser (`https://app.example.org`), separated by commas; empty for none but the service's own.",
    '',
  ),
  TRACES_URL: text('Where OpenTelemetry traces go (OTLP over HTTP: `http://127.0.0.1:4318/v1/traces`); empty for none.', ''),
  IMPORT_DIR: Type.Optional(
    Type.String({ description: 'Folder whose files and folders admin jobs may name as their source; off without one.', minLength: 1 }),
  ),
  SERVE_FILES: Type.Boolean({
    description:
      'Give the files in IMPORT_DIR that passages were taken from to whoever may ask: `GET /v1/passages/:id/file`, and as `file` in the evidence.',
    default: false,
  }),
  JOBS_DIR: Type.Optional(
    Type.String({
      description:
        'Folder for uploads, journals and reports of index jobs (default: `jobs` in INDEX_DIR; to be set where that is in an object store). All processes of one index share it, those of one machine at least.',
      minLength: 1,
    }),
  ),
  EXACT_BELOW: integer(
    'Passages below which a question is compared with every vector; a larger table gets a vector index.',
    50_000,
    0,
    1_000_000_000,
  ),
  KEEP_VERSIONS_MIN: integer(
    'Minutes for which files of the index that were replaced are kept: longer than a question (DEADLINE_MS) or a copy of the folder takes, and in an object store an export by another process. Exports from a folder keep what they read.',
    3,
    1,
    100_000,
  ),
  MIN_RECALL: Type.Number({
    description: 'Least recall@10 of a vector index against exact search, on a sample; below it the index is not put into service.',
    default: 0.95,
    minimum: 0,
    maximum: 1,
  }),
  RETRIEVAL: Type.Enum(['dense', 'text', 'hybrid'], {
    description: 'How passages are searched where a request does not name a `method`: Contriever, BM25, or both fused.',
    default: 'hybrid',
  }),
  THREADS: Type.Optional(
    Type.Integer({
      description: 'Threads of each inference process (default: the cores, shared out to READERS).',
      minimum: 1,
      maximum: 512,
    }),
  ),
  READERS: Type.Optional(
    Type.Integer({
      description:
        'Reader processes; weights are shared between them (default: 1; for models under 100 million weights, where THREADS is not set either, one for every core, at most 4).',
      minimum: 1,
      maximum: 64,
    }),
  ),
  QUEUE: integer('Questions queued for a reader; more are rejected with 503. With several clients the limit is doubled.', 64, 0, 100_000),
  DEADLINE_MS: integer(
    'Deadline of a question, queueing included; then it is answered 504. If the estimated wait exceeds it, the question is rejected immediately with 503.',
    120_000,
    100,
    3_600_000,
  ),
  BATCH_DEADLINE_MS: integer('Time a batch of questions may take; those whose turn did not come then fail.', 3_600_000, 100, 86_400_000),
  MAX_RUN_MS: integer('Time that one run of a model may take; a process that takes longer is replaced.', 600_000, 1000, 86_400_000),
  STATE_CACHE_MB: integer('Memory for cached encoder states of passages, per reader process.', 256, 0, 1_000_000),
  STATE_DTYPE: Type.Enum(['f16', 'f32'], {
    description: 'How encoder states are kept: rounded to half precision, in half the memory and disk, or as they are.',
    default: 'f16',
  }),
  STATE_DISK_MB: integer(
    'Disk for encoder states of passages, of all readers of an index; 0 for none. Past it, those that were not used for longest go.',
    0,
    0,
    1_000_000_000,
  ),
  STATE_DIR: Type.Optional(
    Type.String({
      description: 'Folder of the encoder states on the disk (default: `states` in INDEX_DIR; to be set where that is in an object store).',
      minLength: 1,
    }),
  ),
  ENCODE_AHEAD: Type.Boolean({
    description: 'Store the encoder states of all passages on the disk, behind questions: at the start, and after every index job.',
    default: false,
  }),
  REPLUG_MB: integer(
    "Memory for keys and values of a RePlug question's prompts, per reader process; more is answered 422.",
    512,
    1,
    1_000_000,
  ),
  CHAT_TEMPLATE: Type.Optional(
    Type.Enum(['none', 'inst', 'tokenizer'], {
      description:
        "Default chat template of prompts: none, LLaMA-2-Chat's [INST] marks, or the model's own chat template. Default: nothing; for chats the model's own, where it has one.",
    }),
  ),
  CHAT_SOURCES: Type.Boolean({
    description:
      'Append the passages to the answers of chats, numbered, with their addresses: for clients that show no citations. A request chooses by `cepe.sources`.',
    default: false,
  }),
  DOCUMENT_MB: integer('Largest file of a document.', 32, 1, 1024),
  DOCUMENT_TOKENS: integer('Most tokens of a document; more is answered 413.', 32_768, 1, 10_000_000),
  DOCUMENT_PARSE_MS: integer(
    'Processor time that reading a document may take, in at most ten times as long; then its process is killed.',
    30_000,
    100,
    3_600_000,
  ),
  PAGE_TITLE: Type.String({
    description: 'Name of the page. It and PAGE_ABOUT are shown to everybody who can open the page, before any key is given.',
    default: 'Ask your documents',
    pattern: '\\S',
    maxLength: 100,
  }),
  PAGE_ABOUT: Type.String({
    description: 'A sentence on the page: what is in the corpus. Empty: made from the titles of a few passages.',
    default: '',
    maxLength: 300,
  }),
  PAGE_QUESTIONS: Type.String({
    description:
      'Example questions on the page, separated by `;`; three are shown. Empty: three of the demo corpus where that is indexed, else made from titles.',
    default: '',
    maxLength: 1000,
  }),
  RATE_LIMIT: integer('Requests per minute and client address; 0 for no limit.', 0, 0, 1_000_000),
  TRUST_PROXY: text(
    "Proxies whose `X-Forwarded-For` names the client: their number, or a list of addresses and networks (`loopback`, `10.0.0.0/8`). Empty: the connection's address is the client's.",
    '',
  ),
  BASE_PATH: Type.String({
    description:
      'Path under which a proxy serves the API and the page (`/qa`), whether the proxy hands it on or takes it off. Empty: the root.',
    default: '',
    pattern: BASE_PATH,
  }),
  BODY_LIMIT_KB: integer('Largest JSON body.', 1024, 1, 1_048_576),
  UPLOAD_LIMIT_MB: integer('Largest corpus upload.', 65_536, 1, 10_000_000),
  REQUEST_TIMEOUT_MS: integer("Time for a request's headers to arrive, and again for its JSON body.", 30_000, 100, 3_600_000),
  UPLOAD_IDLE_MS: integer('Pause in which nothing of a corpus upload arrives, after which it is given up.', 60_000, 100, 3_600_000),
  MAX_CONNECTIONS: integer('Connections open at a time; more are closed at once.', 1000, 1, 1_000_000),
  DRAIN_MS: integer('Time that running requests have to finish after SIGTERM; what is left then is answered 503.', 30_000, 0, 3_600_000),
  LOG_LEVEL: Type.Enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'], {
    description: 'Log level (JSON lines on standard output).',
    default: 'info',
  }),
})
export type Config = Static<typeof ConfigSchema>
