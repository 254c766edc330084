import { Type, type Static } from 'typebox'
import { TABLE_NAME } from '../index/table-name.ts'
import { DTYPES } from '../models/dtypes.ts'

/** A setting: its description, then its kind with default and bounds. */
function setting(description: string) {
  return {
    text: (value: string, bounds: { readonly pattern?: string; readonly maxLength?: number } = {}) =>
      Type.String({ description, default: value, ...bounds }),
    integer: (value: number, minimum: number, maximum: number) => Type.Integer({ description, default: value, minimum, maximum }),
    optionalInteger: (minimum: number, maximum: number) => Type.Optional(Type.Integer({ description, minimum, maximum })),
    choice: <const Value extends string>(values: readonly Value[], value: NoInfer<Value>) =>
      Type.Enum([...values], { description, default: value }),
    optionalChoice: <const Value extends string>(values: readonly Value[]) => Type.Optional(Type.Enum([...values], { description })),
    optionalShare: () => Type.Optional(Type.Number({ description, minimum: 0, maximum: 1 })),
    flag: () => Type.Boolean({ description, default: false }),
    optionalText: (minLength = 0) => Type.Optional(Type.String({ description, ...(minLength > 0 && { minLength }) })),
  }
}

export const DEFAULT_DTYPE = 'f32'
export const SHIPPED_RETRIEVER = 'models/retriever/checkpoint/all-minilm-l6-v2'

/** Empty, or a path such as `/qa`. Prefixes of the routes are excluded. */
export const BASE_PATH = '^$|^(?!/(v1|docs)(/|$))(/[A-Za-z0-9_][A-Za-z0-9._~-]*)+$'

/** Limits, times and sizes that few need to change: docs/tuning.md. */
const TUNING = {
  CPU_FALLBACK: setting('With PROVIDER=cuda: fall back to the CPU if CUDA is not available, instead of failing at start-up.').flag(),
  MIRROR_MB: setting(
    'Size limit of MIRROR_DIR in megabytes. A larger table is not copied: the previous copy keeps serving, and readiness reports it.',
  ).integer(100_000, 1, 1_000_000_000),
  MAX_OPEN_COLLECTIONS: setting(
    'Collections besides TABLE that are kept open; the least recently used are closed, and reopened on demand.',
  ).integer(16, 1, 1000),
  FEEDBACK_MB: setting('Size limit of the feedback file in megabytes; further feedback is answered 507.').integer(64, 1, 100_000),
  FETCH_DELAY_MS: setting('Pause between two requests to one host while pages are fetched.').integer(500, 0, 60_000),
  KEEP_UPLOADS_MB: setting(
    'Size limit in megabytes of uploaded documents kept in JOBS_DIR, which their passages link to (SERVE_FILES). The oldest are evicted first. 0 keeps none.',
  ).integer(0, 0, 100_000_000),
  EXACT_BELOW: setting('Tables with fewer passages are searched exactly; larger ones get a vector index.').integer(
    50_000,
    0,
    1_000_000_000,
  ),
  KEEP_VERSIONS_MIN: setting(
    'Minutes to retain replaced files of the index: longer than a question (DEADLINE_MS), a copy of the folder and, in an object store, an export by another process.',
  ).integer(3, 1, 100_000),
  MIN_RECALL: Type.Number({
    description: 'Minimum recall@10 of a vector index against exact search, on a sample; an index below it is not used.',
    default: 0.97,
    minimum: 0,
    maximum: 1,
  }),
  QUEUE: setting('Questions queued for a reader; more are rejected with 503. With several clients the limit is doubled.').integer(
    64,
    0,
    100_000,
  ),
  BATCH_DEADLINE_MS: setting('Deadline of a batch; questions not started by then fail.').integer(3_600_000, 100, 86_400_000),
  MAX_RUN_MS: setting('Time limit of one model run; a process that exceeds it is replaced.').integer(600_000, 1000, 86_400_000),
  STATE_CACHE_MB: setting('Memory for cached encoder states of passages, per reader process.').integer(256, 0, 1_000_000),
  PROMPT_CACHE_MB: setting(
    'Memory for keys and values of prompts, per reader process: what an earlier prompt began with is not read again.',
  ).integer(128, 0, 1_000_000),
  STATE_DTYPE: setting('Precision of stored encoder states: half precision uses half the memory and disk.').choice(['f16', 'f32'], 'f16'),
  STATE_DISK_MB: setting(
    'Disk limit for encoder states of passages, shared by all readers of an index; 0 for none. The least recently used are evicted.',
  ).integer(0, 0, 1_000_000_000),
  STATE_DIR: setting(
    'Folder of encoder states on disk (default: `states` in INDEX_DIR; required if that is in an object store).',
  ).optionalText(1),
  ENCODE_AHEAD: setting(
    'Precompute encoder states of all passages on disk, at lower priority than questions: at start-up and after every index job.',
  ).flag(),
  REPLUG_MB: setting("Memory for keys and values of a RePlug question's prompts, per reader process; more is answered 422.").integer(
    512,
    1,
    1_000_000,
  ),
  DOCUMENT_MB: setting('Largest file of a document.').integer(32, 1, 1024),
  DOCUMENT_TOKENS: setting('Token limit of a document; a longer one is answered 413.').integer(32_768, 1, 10_000_000),
  DOCUMENT_PARSE_MS: setting(
    'CPU time limit of parsing a document; wall-clock time is limited to ten times as much. A process that exceeds it is killed.',
  ).integer(30_000, 100, 3_600_000),
  OCR: setting('Languages of OCR of scanned PDFs and pictures (`eng+deu`), by packages that docs/corpus.md names. Empty: no OCR.').text(''),
  BODY_LIMIT_KB: setting('Largest JSON body.').integer(1024, 1, 1_048_576),
  UPLOAD_LIMIT_MB: setting('Largest corpus upload.').integer(65_536, 1, 10_000_000),
  REQUEST_TIMEOUT_MS: setting("Time for a request's headers to arrive, and again for its JSON body.").integer(30_000, 100, 3_600_000),
  UPLOAD_IDLE_MS: setting(
    'Period within which an upload must bring at least a byte per millisecond. A document must be complete after ten of them.',
  ).integer(60_000, 100, 3_600_000),
  MAX_CONNECTIONS: setting(
    "Maximum open connections, half of them of one address (all, with TRUST_PROXY), and at most half of the process's descriptors (`ulimit -n`). Beyond them requests other than probes get 503.",
  ).integer(1000, 1, 1_000_000),
  DRAIN_MS: setting('Grace period for running requests after SIGTERM; unfinished ones are answered 503.').integer(30_000, 0, 3_600_000),
}

/**
 * All settings of the service: environment variables `CEPE_<NAME>`, also read from `.env` in the working folder. docs/configuration.md and
 * docs/tuning.md show this schema as tables (a test compares them); config.ts reads it.
 */
export const ConfigSchema = Type.Object({
  HOST: setting('Address to listen on.').text('127.0.0.1', { pattern: '\\S' }),
  PORT: setting('Port to listen on; 0 selects a free one. Default: `PORT`, if set.').integer(8080, 0, 65535),
  READER_CHECKPOINT: setting(
    'Checkpoint folder of the reader (Hugging Face layout) or GGUF file, built into READER_DIR if that is missing or older. No default if READER_DIR is set.',
  ).text('models/reader/checkpoint/smollm2-135m-qa'),
  READER_DIR: setting('Built reader (graphs and manifest). If only READER_CHECKPOINT is set: `models/built/<its name>-<dtype>`.').text(
    'models/built/reader',
  ),
  RETRIEVER_CHECKPOINT: setting(
    'Checkpoint folder of the retriever, built in f32; the shipped one on the CPU in int8. No default if RETRIEVER_DIR is set.',
  ).text(SHIPPED_RETRIEVER),
  RETRIEVER_DIR: setting('Built retriever. With RETRIEVER_CHECKPOINT alone: `models/built/<its name>-<dtype>`.').text(
    'models/built/retriever',
  ),
  FURTHER_RETRIEVERS: setting(
    'Folders of further built retrievers, comma-separated. Tables built with any of them can be searched and changed, so that a retriever can be replaced without downtime. All are loaded at start-up.',
  ).text(''),
  RERANKER_DIR: setting(
    'Built cross-encoder that reranks passages (`rerank: true`, `POST /v1/rerank`, `POST /rerank`). Default: the reader reranks.',
  ).text(''),
  DTYPE: setting(
    'Precision of a reader built at start-up: on CUDA f16 (default) or f16-int4. Shipped reader on the CPU: int8-blocks.',
  ).choice(DTYPES, DEFAULT_DTYPE),
  PROVIDER: setting('ONNX Runtime execution provider.').choice(['cpu', 'cuda'], 'cpu'),
  DEVICE_ID: setting('CUDA device.').integer(0, 0, 63),
  ROLE: setting(
    'Role of this process: `all`; `replica` answers questions and never changes the index (write and admin routes return 404); `indexer` changes the index and runs its jobs, without a reader.',
  ).choice(['all', 'replica', 'indexer'], 'all'),
  DATA_DIR: setting(
    'Data folder: its `models/`, `index/` and `keys/` are the defaults of READER_DIR, RETRIEVER_DIR, INDEX_DIR and KEYS_DIR, instead of folders of the package.',
  ).optionalText(1),
  INDEX_DIR: setting('Folder of the LanceDB index, or its URL in an object store (`s3://bucket/prefix`).').text('index/data'),
  MIRROR_DIR: setting(
    'Replicas: local folder that the table is copied to and served from, also while INDEX_DIR is unavailable. Default: read INDEX_DIR directly.',
  ).optionalText(1),
  TABLE: setting('Table to search.').text('passages', { pattern: TABLE_NAME }),
  CORPUS: setting(
    'Passages (psgs_w100.tsv shape or JSONL) indexed at the first start if the table is missing; empty for none. No default if another index, table or retriever is set.',
  ).text('index/corpus/passages.tsv'),
  DEMONSTRATIONS: setting('JSONL of worked examples ({question, answer, title, text}) placed in front of questions; empty for none.').text(
    'index/corpus/demonstrations.jsonl',
  ),
  CALIBRATION: setting(
    'Output of `cepe calibrate`; empty for none. Default: `calibration.<table>.json` in INDEX_DIR, else the shipped one, each only if fitted for the current reader and prompt.',
  ).optionalText(),
  FEEDBACK: setting(
    'File that feedback on answers is appended to, as JSON lines that `cepe calibrate` and `cepe eval` read. Default: none; the route is disabled.',
  ).optionalText(),
  MIN_CONFIDENCE: setting(
    'Minimum probability of being right (confidence without a calibration) of an answer; others are withheld. 0 withholds none. Default: 0.5 with a calibration, else 0.',
  ).optionalShare(),
  ADMIN_KEY: setting(
    'A key for the admin routes (`Authorization: Bearer <key>`), besides those of `cepe keys`. Without any key the routes are disabled.',
  ).optionalText(16),
  KEYS_DIR: setting("Folder of the keys made by `cepe keys`; all services that share it count a key's questions together.").text('keys'),
  ALLOW_OPEN: setting('Allow requests without user keys on an address other than loopback; otherwise the service does not start.').flag(),
  ALLOWED_HOSTS: setting(
    'Further accepted values of `Host` for a service without user keys, comma-separated. On a loopback address, or if any are given, hosts other than these, localhost, 127.0.0.1 and [::1] are answered 421.',
  ).text(''),
  CORS_ORIGINS: setting(
    "Origins whose pages may ask from a browser (`https://app.example.org`), separated by commas; empty for none but the service's own.",
  ).text(''),
  TRACES_URL: setting('OpenTelemetry endpoint for traces (OTLP over HTTP: `http://127.0.0.1:4318/v1/traces`); empty for none.').text(''),
  IMPORT_DIR: setting('Folder that admin jobs may read source files and folders from; disabled if not set.').optionalText(1),
  FETCH: setting(
    'Hosts that admin jobs may fetch pages from, comma-separated: `docs.example.org` at the default ports, or `docs.example.org:8443`; empty for none. The command line fetches from any public host.',
  ).text(''),
  SERVE_FILES: setting(
    'Serve the source files of passages (in IMPORT_DIR, and kept uploads) to clients that may ask questions: `GET /v1/passages/:id/file`, and as `file` in the evidence.',
  ).flag(),
  JOBS_DIR: setting(
    'Folder for uploads, journals and reports of index jobs (default: `jobs` in INDEX_DIR; required if that is in an object store). Shared by all processes of an index, at least by those of one machine.',
  ).optionalText(1),
  RETRIEVAL: setting('Default search `method`: vectors, BM25, or both fused.').choice(['dense', 'text', 'hybrid'], 'hybrid'),
  THREADS: setting('Threads per inference process (default: cores divided by READERS).').optionalInteger(1, 512),
  READERS: setting(
    'Reader processes; they share weights (default: 1; for models under 100 million weights without THREADS, one per core, at most 4).',
  ).optionalInteger(1, 64),
  DEADLINE_MS: setting(
    'Deadline of a question, including queueing; after it, the response is 504. If the estimated wait exceeds it, the question is rejected immediately with 503.',
  ).integer(120_000, 100, 3_600_000),
  CHAT_TEMPLATE: setting(
    "Default chat template of prompts: none, LLaMA-2-Chat's [INST] marks, or the model's own chat template. Default: nothing; for chats the model's own, where it has one.",
  ).optionalChoice(['none', 'inst', 'tokenizer']),
  CHAT_SOURCES: setting(
    'Append numbered passages with their URLs to chat answers, for clients that show no citations. A request can override it with `cepe.sources`.',
  ).flag(),
  PAGE_TITLE: setting('Title of the page. It and PAGE_ABOUT are visible without a key.').text('Ask your documents', {
    pattern: '\\S',
    maxLength: 100,
  }),
  PAGE_ABOUT: setting('Description of the corpus on the page. Empty: generated from the titles of a few passages.').text('', {
    maxLength: 300,
  }),
  PAGE_QUESTIONS: setting(
    'Example questions on the page, separated by `;`; three are shown. Empty: three of the demo corpus if that is indexed, else generated from titles.',
  ).text('', { maxLength: 1000 }),
  RATE_LIMIT: setting('Requests per minute and client address; 0 for no limit.').integer(0, 0, 1_000_000),
  TRUST_PROXY: setting(
    "Proxies whose `X-Forwarded-For` names the client: their number, or a list of addresses and networks (`loopback`, `10.0.0.0/8`). Empty: the connection's address is the client's.",
  ).text(''),
  BASE_PATH: setting(
    'Path under which a proxy serves the API and the page (`/qa`), whether or not the proxy strips it. Empty: the root.',
  ).text('', { pattern: BASE_PATH }),
  PUBLIC_URL: setting(
    "Public address of the service, for links in chat answers (`https://qa.example.org`; without a path, BASE_PATH is appended). Empty: that of the request, with a trusted proxy's `X-Forwarded` headers.",
  ).text(''),
  LOG_LEVEL: setting('Log level (JSON lines on standard output).').choice(
    ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'],
    'info',
  ),
  ...TUNING,
})
export type Config = Static<typeof ConfigSchema>
