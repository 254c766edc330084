import { Type, type Static } from '#typebox'
import { TABLE_NAME } from '../index/table-name.ts'

function text(description: string, value: string) {
  return Type.String({ description, default: value })
}
function integer(description: string, value: number, minimum: number, maximum: number) {
  return Type.Integer({ description, default: value, minimum, maximum })
}

export const DEFAULT_DTYPE = 'f32'
export const SHIPPED_RETRIEVER = 'models/retriever/checkpoint/all-minilm-l6-v2'

/** Empty, or a path such as `/qa`. Prefixes of the routes are excluded. */
export const BASE_PATH = '^$|^(?!/(v1|docs)(/|$))(/[A-Za-z0-9_][A-Za-z0-9._~-]*)+$'

/** Limits, times and sizes that few need to change: docs/tuning.md. */
const TUNING = {
  CPU_FALLBACK: Type.Boolean({
    description: 'With PROVIDER=cuda: fall back to the CPU if CUDA is not available, instead of failing at start-up.',
    default: false,
  }),
  MIRROR_MB: integer(
    'Size limit of MIRROR_DIR in megabytes. A larger table is not copied: the previous copy keeps serving, and readiness reports it.',
    100_000,
    1,
    1_000_000_000,
  ),
  MAX_OPEN_COLLECTIONS: integer(
    'Collections besides TABLE that are kept open; the least recently used are closed, and reopened on demand.',
    16,
    1,
    1000,
  ),
  FEEDBACK_MB: integer('Size limit of the feedback file in megabytes; further feedback is answered 507.', 64, 1, 100_000),
  FETCH_DELAY_MS: integer('Pause between two requests to one host while pages are fetched.', 500, 0, 60_000),
  KEEP_UPLOADS_MB: integer(
    'Size limit in megabytes of uploaded documents kept in JOBS_DIR, which their passages link to (SERVE_FILES). The oldest are evicted first. 0 keeps none.',
    0,
    0,
    100_000_000,
  ),
  EXACT_BELOW: integer('Tables with fewer passages are searched exactly; larger ones get a vector index.', 50_000, 0, 1_000_000_000),
  KEEP_VERSIONS_MIN: integer(
    'Minutes to retain replaced files of the index: longer than a question (DEADLINE_MS), a copy of the folder and, in an object store, an export by another process.',
    3,
    1,
    100_000,
  ),
  MIN_RECALL: Type.Number({
    description: 'Minimum recall@10 of a vector index against exact search, on a sample; an index below it is not used.',
    default: 0.95,
    minimum: 0,
    maximum: 1,
  }),
  QUEUE: integer('Questions queued for a reader; more are rejected with 503. With several clients the limit is doubled.', 64, 0, 100_000),
  BATCH_DEADLINE_MS: integer('Deadline of a batch; questions not started by then fail.', 3_600_000, 100, 86_400_000),
  MAX_RUN_MS: integer('Time limit of one model run; a process that exceeds it is replaced.', 600_000, 1000, 86_400_000),
  STATE_CACHE_MB: integer('Memory for cached encoder states of passages, per reader process.', 256, 0, 1_000_000),
  STATE_DTYPE: Type.Enum(['f16', 'f32'], {
    description: 'Precision of stored encoder states: half precision uses half the memory and disk.',
    default: 'f16',
  }),
  STATE_DISK_MB: integer(
    'Disk limit for encoder states of passages, shared by all readers of an index; 0 for none. The least recently used are evicted.',
    0,
    0,
    1_000_000_000,
  ),
  STATE_DIR: Type.Optional(
    Type.String({
      description: 'Folder of encoder states on disk (default: `states` in INDEX_DIR; required if that is in an object store).',
      minLength: 1,
    }),
  ),
  ENCODE_AHEAD: Type.Boolean({
    description:
      'Precompute encoder states of all passages on disk, at lower priority than questions: at start-up and after every index job.',
    default: false,
  }),
  REPLUG_MB: integer(
    "Memory for keys and values of a RePlug question's prompts, per reader process; more is answered 422.",
    512,
    1,
    1_000_000,
  ),
  DOCUMENT_MB: integer('Largest file of a document.', 32, 1, 1024),
  DOCUMENT_TOKENS: integer('Token limit of a document; a longer one is answered 413.', 32_768, 1, 10_000_000),
  DOCUMENT_PARSE_MS: integer(
    'CPU time limit of parsing a document; wall-clock time is limited to ten times as much. A process that exceeds it is killed.',
    30_000,
    100,
    3_600_000,
  ),
  OCR: text('Languages of OCR of scanned PDFs and pictures (`eng+deu`), by packages that docs/corpus.md names. Empty: no OCR.', ''),
  BODY_LIMIT_KB: integer('Largest JSON body.', 1024, 1, 1_048_576),
  UPLOAD_LIMIT_MB: integer('Largest corpus upload.', 65_536, 1, 10_000_000),
  REQUEST_TIMEOUT_MS: integer("Time for a request's headers to arrive, and again for its JSON body.", 30_000, 100, 3_600_000),
  UPLOAD_IDLE_MS: integer(
    'Period within which an upload must bring at least a byte per millisecond. A document must be complete after ten of them.',
    60_000,
    100,
    3_600_000,
  ),
  MAX_CONNECTIONS: integer(
    "Maximum open connections, half of them of one address (all, with TRUST_PROXY), and at most half of the process's descriptors (`ulimit -n`). Beyond them requests other than probes get 503.",
    1000,
    1,
    1_000_000,
  ),
  DRAIN_MS: integer('Grace period for running requests after SIGTERM; unfinished ones are answered 503.', 30_000, 0, 3_600_000),
}

/**
 * All settings of the service: environment variables `CEPE_<NAME>`, also read from `.env` in the working folder. docs/configuration.md and
 * docs/tuning.md show this schema as tables (a test compares them); config.ts reads it.
 */
export const ConfigSchema = Type.Object({
  HOST: Type.String({ description: 'Address to listen on.', default: '127.0.0.1', pattern: '\\S' }),
  PORT: integer('Port to listen on; 0 selects a free one. Default: `PORT`, if set.', 8080, 0, 65535),
  READER_CHECKPOINT: text(
    'Checkpoint folder of the reader (Hugging Face layout) or GGUF file, built into READER_DIR if that is missing or older. No default if READER_DIR is set.',
    'models/reader/checkpoint/smollm2-135m-qa',
  ),
  READER_DIR: text(
    'Built reader (graphs and manifest). If only READER_CHECKPOINT is set: `models/built/<its name>-<dtype>`.',
    'models/built/reader',
  ),
  RETRIEVER_CHECKPOINT: text(
    'Checkpoint folder of the retriever, built in f32; the shipped one on the CPU in int8. No default if RETRIEVER_DIR is set.',
    SHIPPED_RETRIEVER,
  ),
  RETRIEVER_DIR: text('Built retriever. With RETRIEVER_CHECKPOINT alone: `models/built/<its name>-<dtype>`.', 'models/built/retriever'),
  FURTHER_RETRIEVERS: text(
    'Folders of further built retrievers, comma-separated. Tables built with any of them can be searched and changed, so that a retriever can be replaced without downtime. All are loaded at start-up.',
    '',
  ),
  RERANKER_DIR: text(
    'Built cross-encoder that reranks passages (`rerank: true`, `POST /v1/rerank`, `POST /rerank`). Default: the reader reranks.',
    '',
  ),
  DTYPE: Type.Enum(['f32', 'int8', 'int8-blocks', 'int8+int4', 'int4', 'f16', 'f16-int4'], {
    description: 'Precision of a reader built at start-up: on CUDA f16 (default) or f16-int4. Shipped reader on the CPU: int8-blocks.',
    default: DEFAULT_DTYPE,
  }),
  PROVIDER: Type.Enum(['cpu', 'cuda'], { description: 'ONNX Runtime execution provider.', default: 'cpu' }),
  DEVICE_ID: integer('CUDA device.', 0, 0, 63),
  ROLE: Type.Enum(['all', 'replica', 'indexer'], {
    description:
      'Role of this process: `all`; `replica` answers questions and never writes to INDEX_DIR (write and admin routes return 404); `indexer` changes the index and runs its jobs, without a reader.',
    default: 'all',
  }),
  DATA_DIR: Type.Optional(
    Type.String({
      description:
        'Data folder: its `models/`, `index/` and `keys/` are the defaults of READER_DIR, RETRIEVER_DIR, INDEX_DIR and KEYS_DIR, instead of folders of the package.',
      minLength: 1,
    }),
  ),
  INDEX_DIR: text('Folder of the LanceDB index, or its URL in an object store (`s3://bucket/prefix`).', 'index/data'),
  MIRROR_DIR: Type.Optional(
    Type.String({
      description:
        'Replicas: local folder that the table is copied to and served from, also while INDEX_DIR is unavailable. Default: read INDEX_DIR directly.',
      minLength: 1,
    }),
  ),
  TABLE: Type.String({ description: 'Table to search.', default: 'passages', pattern: TABLE_NAME }),
  CORPUS: text(
    'Passages (psgs_w100.tsv shape or JSONL) indexed at the first start if the table is missing; empty for none. No default if another index, table or retriever is set.',
    'index/corpus/passages.tsv',
  ),
  DEMONSTRATIONS: text(
    'JSONL of worked examples ({question, answer, title, text}) placed in front of questions; empty for none.',
    'index/corpus/demonstrations.jsonl',
  ),
  CALIBRATION: Type.Optional(
    Type.String({
      description:
        'Output of `cepe calibrate`; empty for none. Default: `calibration.<table>.json` in INDEX_DIR, else the shipped one, each only if fitted for the current reader and prompt.',
    }),
  ),
  FEEDBACK: Type.Optional(
    Type.String({
      description:
        'File that feedback on answers is appended to, as JSON lines that `cepe calibrate` and `cepe eval` read. Default: none; the route is disabled.',
    }),
  ),
  MIN_CONFIDENCE: Type.Optional(
    Type.Number({
      description:
        'Minimum probability of being right (confidence without a calibration) of an answer; others are withheld. 0 withholds none. Default: 0.5 with a calibration, else 0.',
      minimum: 0,
      maximum: 1,
    }),
  ),
  ADMIN_KEY: Type.Optional(
    Type.String({
      description:
        'A key for the admin routes (`Authorization: Bearer <key>`), besides those of `cepe keys`. Without any key the routes are disabled.',
      minLength: 16,
    }),
  ),
  KEYS_DIR: text("Folder of the keys made by `cepe keys`; all services that share it count a key's questions together.", 'keys'),
  ALLOW_OPEN: Type.Boolean({
    description: 'Allow requests without user keys on an address other than loopback; otherwise the service does not start.',
    default: false,
  }),
  ALLOWED_HOSTS: text(
    'Further accepted values of `Host` for a service without user keys, comma-separated. On a loopback address, or if any are given, hosts other than these, localhost, 127.0.0.1 and [::1] are answered 421.',
    '',
  ),
  CORS_ORIGINS: text(
    "Origins whose pages may ask from a browser (`https://app.example.org`), separated by commas; empty for none but the service's own.",
    '',
  ),
  TRACES_URL: text('OpenTelemetry endpoint for traces (OTLP over HTTP: `http://127.0.0.1:4318/v1/traces`); empty for none.', ''),
  IMPORT_DIR: Type.Optional(
    Type.String({ description: 'Folder that admin jobs may read source files and folders from; disabled if not set.', minLength: 1 }),
  ),
  FETCH: text(
    'Hosts that admin jobs may fetch pages from, comma-separated: `docs.example.org` at the default ports, or `docs.example.org:8443`; empty for none. The command line fetches from any public host.',
    '',
  ),
  SERVE_FILES: Type.Boolean({
    description:
      'Serve the source files of passages (in IMPORT_DIR, and kept uploads) to clients that may ask questions: `GET /v1/passages/:id/file`, and as `file` in the evidence.',
    default: false,
  }),
  JOBS_DIR: Type.Optional(
    Type.String({
      description:
        'Folder for uploads, journals and reports of index jobs (default: `jobs` in INDEX_DIR; required if that is in an object store). Shared by all processes of an index, at least by those of one machine.',
      minLength: 1,
    }),
  ),
  RETRIEVAL: Type.Enum(['dense', 'text', 'hybrid'], {
    description: 'Default search `method`: vectors, BM25, or both fused.',
    default: 'hybrid',
  }),
  THREADS: Type.Optional(
    Type.Integer({
      description: 'Threads per inference process (default: cores divided by READERS).',
      minimum: 1,
      maximum: 512,
    }),
  ),
  READERS: Type.Optional(
    Type.Integer({
      description:
        'Reader processes; they share weights (default: 1; for models under 100 million weights without THREADS, one per core, at most 4).',
      minimum: 1,
      maximum: 64,
    }),
  ),
  DEADLINE_MS: integer(
    'Deadline of a question, including queueing; after it, the response is 504. If the estimated wait exceeds it, the question is rejected immediately with 503.',
    120_000,
    100,
    3_600_000,
  ),
  CHAT_TEMPLATE: Type.Optional(
    Type.Enum(['none', 'inst', 'tokenizer'], {
      description:
        "Default chat template of prompts: none, LLaMA-2-Chat's [INST] marks, or the model's own chat template. Default: nothing; for chats the model's own, where it has one.",
    }),
  ),
  CHAT_SOURCES: Type.Boolean({
    description:
      'Append numbered passages with their URLs to chat answers, for clients that show no citations. A request can override it with `cepe.sources`.',
    default: false,
  }),
  PAGE_TITLE: Type.String({
    description: 'Title of the page. It and PAGE_ABOUT are visible without a key.',
    default: 'Ask your documents',
    pattern: '\\S',
    maxLength: 100,
  }),
  PAGE_ABOUT: Type.String({
    description: 'Description of the corpus on the page. Empty: generated from the titles of a few passages.',
    default: '',
    maxLength: 300,
  }),
  PAGE_QUESTIONS: Type.String({
    description:
      'Example questions on the page, separated by `;`; three are shown. Empty: three of the demo corpus if that is indexed, else generated from titles.',
    default: '',
    maxLength: 1000,
  }),
  RATE_LIMIT: integer('Requests per minute and client address; 0 for no limit.', 0, 0, 1_000_000),
  TRUST_PROXY: text(
    "Proxies whose `X-Forwarded-For` names the client: their number, or a list of addresses and networks (`loopback`, `10.0.0.0/8`). Empty: the connection's address is the client's.",
    '',
  ),
  BASE_PATH: Type.String({
    description: 'Path under which a proxy serves the API and the page (`/qa`), whether or not the proxy strips it. Empty: the root.',
    default: '',
    pattern: BASE_PATH,
  }),
  PUBLIC_URL: text(
    "Public address of the service, for links in chat answers (`https://qa.example.org`; without a path, BASE_PATH is appended). Empty: that of the request, with a trusted proxy's `X-Forwarded` headers.",
    '',
  ),
  LOG_LEVEL: Type.Enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'], {
    description: 'Log level (JSON lines on standard output).',
    default: 'info',
  }),
  ...TUNING,
})
export type Config = Static<typeof ConfigSchema>
