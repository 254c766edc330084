import { availableParallelism } from 'node:os'
import { isIP } from 'node:net'
import path from 'node:path'
import { existsSync, readFileSync } from 'node:fs'
import { loadEnvFile } from 'node:process'
import { fileURLToPath } from 'node:url'
import { Type, type Static } from 'typebox'
import Value from 'typebox/value'
import { CodedError } from '../base/errors.ts'

function text(description: string, value: string) {
  return Type.String({ description, default: value })
}
function integer(description: string, value: number, minimum: number, maximum: number) {
  return Type.Integer({ description, default: value, minimum, maximum })
}

const DEFAULT_DTYPE = 'f32'

/**
 * Every setting of the service: an environment variable `CEPE_<NAME>`, also read from `.env` in the working folder.
 * The README's configuration table is made from this schema.
 */
export const ConfigSchema = Type.Object({
  HOST: Type.String({ description: 'Address to listen on.', default: '127.0.0.1', pattern: '\\S' }),
  PORT: integer('Port to listen on; 0 takes a free one. Where it is not set, `PORT` is honoured.', 8080, 0, 65535),
  READER_CHECKPOINT: text(
    'Checkpoint folder of the reader (Hugging Face layout), built into READER_DIR when that is missing or older. Without a default where READER_DIR is set.',
    'models/tiny/checkpoint/cepe',
  ),
  READER_DIR: text(
    'Built reader (graphs and manifest). Where only READER_CHECKPOINT is set: `models/built/<its name>-<dtype>`.',
    'models/built/cepe',
  ),
  RETRIEVER_CHECKPOINT: text(
    'Checkpoint folder of the retriever (Contriever). Without a default where RETRIEVER_DIR is set.',
    'models/tiny/checkpoint/contriever',
  ),
  RETRIEVER_DIR: text('Built retriever. Where only RETRIEVER_CHECKPOINT is set: `models/built/<its name>-f32`.', 'models/built/contriever'),
  DTYPE: Type.Enum(['f32', 'int8', 'int8+int4', 'int4', 'f16', 'f16-int4'], {
    description: 'Precision in which a missing reader is built.',
    default: DEFAULT_DTYPE,
  }),
  PROVIDER: Type.Enum(['cpu', 'cuda'], { description: 'Where the graphs run.', default: 'cpu' }),
  DEVICE_ID: integer('CUDA device.', 0, 0, 63),
  CPU_FALLBACK: Type.Boolean({
    description: 'With PROVIDER=cuda: run on the CPU where CUDA is not to be had, instead of refusing to start.',
    default: false,
  }),
  INDEX_DIR: text('Folder of the LanceDB index.', 'index/data'),
  TABLE: Type.String({
    description: 'Table that questions are answered from.',
    default: 'passages',
    pattern: '^[A-Za-z][A-Za-z0-9_-]{0,63}$',
  }),
  CORPUS: text(
    'Passages (psgs_w100.tsv shape or JSONL) indexed at the first start when the table is missing; empty for none. Without a default where another index, table or retriever is set.',
    'index/corpus/passages.tsv',
  ),
  DEMONSTRATIONS: text(
    'JSONL of worked examples ({question, answer, title, text}) placed in front of questions; empty for none.',
    'index/corpus/demonstrations.jsonl',
  ),
  ADMIN_KEY: Type.Optional(
    Type.String({ description: 'Key of the admin routes (`Authorization: Bearer <key>`); the routes are off without one.', minLength: 16 }),
  ),
  IMPORT_DIR: Type.Optional(
    Type.String({ description: 'Folder whose files admin jobs may name as their source; off without one.', minLength: 1 }),
  ),
  JOBS_DIR: Type.Optional(
    Type.String({
      description:
        'Folder for uploads, journals and reports of index jobs (default: `jobs` in INDEX_DIR). All processes of one index share it.',
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
    'Minutes for which files of the index that were replaced are kept: longer than any query or copy of the folder takes.',
    10,
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
  THREADS: Type.Integer({
    description: 'Threads of each inference process (default: the number of cores).',
    minimum: 1,
    maximum: 512,
    default: availableParallelism(),
  }),
  READERS: integer('Reader processes; weights are shared between them.', 1, 1, 64),
  QUEUE: integer(
    'Questions that may wait for a reader; more are answered 503. Several clients may bring in twice as many.',
    64,
    0,
    100_000,
  ),
  DEADLINE_MS: integer(
    'Time a question may take, queueing included; then it is answered 504, and one that would wait longer 503 at once.',
    120_000,
    100,
    3_600_000,
  ),
  MAX_RUN_MS: integer('Time that one run of a model may take; a process that takes longer is replaced.', 600_000, 1000, 86_400_000),
  STATE_CACHE_MB: integer('Memory for cached encoder states of passages, per reader process.', 256, 0, 1_000_000),
  REPLUG_MB: integer(
    "Memory for keys and values of a RePlug question's prompts, per reader process; more is answered 422.",
    512,
    1,
    1_000_000,
  ),
  CHAT_TEMPLATE: Type.Enum(['none', 'inst', 'tokenizer'], { description: 'Put around prompts by default.', default: 'none' }),
  DOCUMENT_MB: integer('Largest file of a document.', 32, 1, 1024),
  DOCUMENT_TOKENS: integer('Most tokens of a document; more is answered 413.', 32_768, 1, 10_000_000),
  DOCUMENT_PARSE_MS: integer('Time that reading a PDF or HTML file may take; then its process is killed.', 30_000, 100, 3_600_000),
  RATE_LIMIT: integer('Requests per minute and client address; 0 for no limit.', 0, 0, 1_000_000),
  TRUST_PROXY: text(
    "Proxies whose `X-Forwarded-For` names the client: their number, or a list of addresses and networks (`loopback`, `10.0.0.0/8`). Empty: the connection's address is the client's.",
    '',
  ),
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

const PREFIX = 'CEPE_'

/** Folder of the package: relative defaults are looked up here, so that `cepe` works from any working folder. */
export function packageRoot(): string {
  let folder = path.dirname(fileURLToPath(import.meta.url))
  while (!existsSync(path.join(folder, 'package.json')) && folder !== path.dirname(folder)) folder = path.dirname(folder)
  return folder
}

/** The package's version, for `--version` and the API documentation. */
export function packageVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(path.join(packageRoot(), 'package.json'), 'utf8'))
  return Value.Parse(Type.Object({ version: Type.String() }), manifest).version
}

const PATH_SETTINGS = [
  'READER_CHECKPOINT',
  'READER_DIR',
  'RETRIEVER_CHECKPOINT',
  'RETRIEVER_DIR',
  'INDEX_DIR',
  'CORPUS',
  'DEMONSTRATIONS',
] as const

/**
 * Reads the settings.
 * @param overrides settings without the prefix that win over the environment (command-line options)
 * @throws config_invalid naming the variable, its value's problem and what is allowed; unknown `CEPE_` variables are refused, since a typing error would otherwise go unnoticed
 */
export function loadConfig(overrides: Partial<Record<keyof Config, unknown>> = {}, env: NodeJS.ProcessEnv = environment()): Config {
  // What platforms set for the services that they run.
  const given: Record<string, unknown> = env['PORT'] ? { PORT: env['PORT'] } : {}
  for (const [variable, value] of Object.entries(env)) {
    if (variable.startsWith(PREFIX) && value !== undefined && value !== '') given[variable.slice(PREFIX.length)] = value
    // An empty variable switches an optional file off where that is meaningful.
    else if (variable === 'CEPE_CORPUS' || variable === 'CEPE_DEMONSTRATIONS') given[variable.slice(PREFIX.length)] = ''
  }
  const unknown = Object.keys(given).find((name) => !(name in ConfigSchema.properties))
  if (unknown !== undefined) {
    throw new CodedError('config_invalid', `Unknown setting ${PREFIX}${unknown}; the README lists the settings.`, {
      field: PREFIX + unknown,
    })
  }
  for (const [name, value] of Object.entries(overrides)) if (value !== undefined) given[name] = value
  Object.assign(given, companions(given))
  const defaultPaths = new Set<string>(PATH_SETTINGS.filter((name) => given[name] === undefined))
  const config: unknown = Value.Default(ConfigSchema, fromText(given))
  if (!Value.Check(ConfigSchema, config)) throw invalidSetting(given, Value.Errors(ConfigSchema, config)[0])
  checkProxies(config.TRUST_PROXY)
  for (const name of PATH_SETTINGS) {
    if (config[name] !== '') config[name] = path.resolve(defaultPaths.has(name) ? packageRoot() : '.', config[name])
  }
  for (const name of ['IMPORT_DIR', 'JOBS_DIR'] as const) if (config[name] !== undefined) config[name] = path.resolve(config[name])
  return config
}

/**
 * Defaults that follow from what is given. The shipped model and corpus only stand in for each other:
 * a folder of the user's own is never filled, or replaced, with the shipped ones.
 */
function companions(given: Readonly<Record<string, unknown>>): Record<string, string> {
  const found: Record<string, string> = {}
  for (const model of ['READER', 'RETRIEVER'] as const) {
    const [checkpoint, dir] = [given[`${model}_CHECKPOINT`], given[`${model}_DIR`]]
    if (dir !== undefined && checkpoint === undefined) found[`${model}_CHECKPOINT`] = ''
    if (dir === undefined && typeof checkpoint === 'string') {
      const { DTYPE = DEFAULT_DTYPE } = given
      const dtype = model === 'READER' && typeof DTYPE === 'string' ? DTYPE : 'f32'
      found[`${model}_DIR`] = path.join(packageRoot(), 'models/built', `${path.basename(path.resolve(checkpoint))}-${dtype}`)
    }
  }
  const ownIndex = ['INDEX_DIR', 'TABLE', 'RETRIEVER_DIR', 'RETRIEVER_CHECKPOINT'].some((name) => given[name] !== undefined)
  if (ownIndex && given['CORPUS'] === undefined) found['CORPUS'] = ''
  return found
}

/** A setting's schema: the keywords that are used above. */
interface Setting {
  readonly type?: string
  readonly enum?: readonly string[]
  readonly pattern?: string
  readonly minimum?: number
  readonly maximum?: number
}

/** Texts as the numbers and booleans that their settings are; one that is none stays a text, and is refused by the schema. */
function fromText(given: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(given).map(([name, value]) => {
      const setting: Setting = ConfigSchema.properties[name as keyof Config]
      if (typeof value !== 'string') return [name, value]
      if (setting.type === 'boolean') return [name, value === 'true' ? true : value === 'false' ? false : value]
      const numeric = setting.type === 'integer' ? /^\d+$/ : setting.type === 'number' ? /^\d*\.?\d+$/ : undefined
      return [name, numeric?.test(value) ? Number(value) : value]
    }),
  )
}

function invalidSetting(
  given: Readonly<Record<string, unknown>>,
  error: { instancePath: string; message: string } | undefined,
): CodedError {
  const name = error?.instancePath.slice(1) as keyof Config
  // What is secret is never shown, right or wrong.
  const value = name.endsWith('_KEY') ? 'the value is not shown' : `got ${JSON.stringify(given[name])}`
  return refused(name, `${rangeOf(ConfigSchema.properties[name]) ?? error?.message ?? 'is not valid'} (${value})`)
}

function refused(name: keyof Config, problem: string): CodedError {
  return new CodedError('config_invalid', `Setting ${PREFIX}${name} ${problem}.`, { field: PREFIX + name })
}

/** What a setting takes, where that can be said in a few words. */
function rangeOf(setting: Setting): string | undefined {
  const { type, pattern, minimum, maximum } = setting
  if (setting.enum) return `must be one of ${setting.enum.join(', ')}`
  if (type === 'boolean') return 'must be true or false'
  if (type === 'integer' || type === 'number')
    return `must be a ${type === 'integer' ? 'whole number' : 'number'} from ${minimum} to ${maximum}`
  return pattern === '\\S' ? 'must not be blank' : undefined
}

const PROXY_NAMES = ['loopback', 'linklocal', 'uniquelocal']

/** @throws config_invalid for what is neither a number of proxies nor a list of addresses, networks and names of networks */
function checkProxies(setting: string): void {
  if (setting === '' || /^\d+$/.test(setting)) return
  for (const part of setting.split(',').map((text) => text.trim())) {
    const [address = '', bits, ...rest] = part.split('/')
    const version = isIP(address)
    const network =
      version > 0 && rest.length === 0 && (bits === undefined || (/^\d+$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128)))
    if (!network && !PROXY_NAMES.includes(part))
      throw refused(
        'TRUST_PROXY',
        `must be a number of proxies, or a list of addresses, networks (10.0.0.0/8) and ${PROXY_NAMES.join(', ')} (got ${JSON.stringify(setting)})`,
      )
  }
}

/** The Hugging Face hub that checkpoints are fetched from, by the variables of its own tools: HF_ENDPOINT and HF_TOKEN. */
export function hubSettings(): { readonly url: string; readonly token: string | null } {
  const { HF_ENDPOINT: endpoint, HF_TOKEN: token } = environment()
  return { url: (endpoint || 'https://huggingface.co').replace(/\/+$/, ''), token: token || null }
}

function environment(): NodeJS.ProcessEnv {
  if (existsSync('.env')) loadEnvFile('.env')
  return process.env
}
