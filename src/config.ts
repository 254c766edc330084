import { isIP } from 'node:net'
import path from 'node:path'
import { lstatSync, statSync } from 'node:fs'
import { loadEnvFile } from 'node:process'
import Value from 'typebox/value'
import { type CodedError, invalidConfig } from '../base/errors.ts'
import { checkAddress, configureStores, storeSettingsOf } from '../index/store/object-store/settings.ts'
import { storeOf } from '../index/store/store-of.ts'
import { TABLE_NAME, TABLE_NAME_FORM } from '../index/table-name.ts'
import { runsOnCuda } from '../models/dtypes.ts'
import type { Dtype } from '../models/manifest.ts'
import { ocrPackages } from '../base/exists.ts'
import { packageRoot } from './package.ts'
import { BASE_PATH, ConfigSchema, DEFAULT_DTYPE, SHIPPED_RETRIEVER, type Config } from './settings.ts'

const PREFIX = 'CEPE_'
/** For commands that call a service, see {@link clientKey}; not a setting of the service. */
const CLIENT_KEY = `${PREFIX}KEY`

const PATH_SETTINGS = [
  'READER_CHECKPOINT',
  'READER_DIR',
  'RETRIEVER_CHECKPOINT',
  'RETRIEVER_DIR',
  'RERANKER_DIR',
  'INDEX_DIR',
  'CORPUS',
  'DEMONSTRATIONS',
  'KEYS_DIR',
] as const
const OPTIONAL_PATHS = ['DATA_DIR', 'IMPORT_DIR', 'JOBS_DIR', 'STATE_DIR', 'CALIBRATION', 'FEEDBACK', 'MIRROR_DIR'] as const

/**
 * Reads the settings.
 * @param overrides settings without the prefix that take precedence over the environment (command-line options)
 * @throws config_invalid naming the variable, its value's problem and the allowed values; unknown `CEPE_` variables are rejected, since a
 * typing error would otherwise go unnoticed
 */
export function loadConfig(overrides: Partial<Record<keyof Config, unknown>> = {}, env: NodeJS.ProcessEnv = environment()): Config {
  // Variables that hosting platforms set for their services.
  const given: Record<string, unknown> = env['PORT'] ? { PORT: env['PORT'] } : {}
  for (const [variable, value] of Object.entries(env)) {
    if (variable === CLIENT_KEY) continue
    if (variable.startsWith(PREFIX) && value !== undefined && value !== '') given[variable.slice(PREFIX.length)] = value
    // An empty variable disables an optional file.
    else if (['CEPE_CORPUS', 'CEPE_DEMONSTRATIONS', 'CEPE_CALIBRATION'].includes(variable)) given[variable.slice(PREFIX.length)] = ''
  }
  const unknown = Object.keys(given).find((name) => !(name in ConfigSchema.properties))
  if (unknown !== undefined) {
    const message = `Unknown setting ${PREFIX}${unknown}; docs/configuration.md and docs/tuning.md list the settings.`
    throw invalidConfig(PREFIX + unknown, message)
  }
  for (const [name, value] of Object.entries(overrides)) if (value !== undefined) given[name] = value
  Object.assign(given, companions(given))
  const defaultPaths = new Set<string>(PATH_SETTINGS.filter((name) => given[name] === undefined))
  const config: unknown = Value.Default(ConfigSchema, fromText(given))
  if (!Value.Check(ConfigSchema, config))
    throw invalidSetting(given, Value.Errors(ConfigSchema, config)[0], {
      ...(overrides.PORT === undefined && !env['CEPE_PORT'] && { PORT: 'PORT' }),
      ...(overrides.TABLE !== undefined && { TABLE: '--collection' }),
    })
  checkProxies(config.TRUST_PROXY)
  checkUrls(config)
  checkLists(config)
  checkAdminKey(config.ADMIN_KEY)
  checkPaths(config)
  checkOcr(config)
  if (config.PROVIDER === 'cuda' && config.ROLE !== 'indexer' && config.READER_CHECKPOINT !== '' && !runsOnCuda('cepe', config.DTYPE))
    throw refused('DTYPE', `is ${config.DTYPE}, whose operators CUDA leaves to the CPU: set f16 or f16-int4, or CEPE_PROVIDER=cpu`)
  if (config.ENCODE_AHEAD && config.STATE_DISK_MB === 0)
    throw refused('ENCODE_AHEAD', 'needs a limit of the disk that it may take: set CEPE_STATE_DISK_MB')
  if (!storeOf(config.INDEX_DIR).keepsFiles) useObjectStore(config, env)
  config.FURTHER_RETRIEVERS = furtherRetrievers(config)
    .map((folder) => path.resolve(folder))
    .join(',')
  for (const name of PATH_SETTINGS) {
    const folder = config[name]
    if (folder !== '') config[name] = storeOf(folder).resolve(defaultPaths.has(name) ? packageRoot() : '.', folder)
  }
  for (const name of OPTIONAL_PATHS) {
    const folder = config[name]
    if (folder && !storeOf(folder).keepsFiles) throw refused(name, `must be a folder (got ${JSON.stringify(folder)})`)
    if (folder) config[name] = path.resolve(folder)
  }
  return config
}

/** @throws config_invalid for a key that no client can send, or everyone knows */
function checkAdminKey(key = ''): void {
  // Clients and servers remove white space at the ends of a header, and differ in how they encode other letters.
  if (!/^[ -~]*$/.test(key) || /^[\s"']|[\s"']$/.test(key))
    throw refused(
      'ADMIN_KEY',
      'must be of ASCII letters, digits and marks, without white space or quotes at its ends (the value is not shown)',
    )
  if (PLACEHOLDER.test(key))
    throw refused('ADMIN_KEY', 'is a placeholder from an example: set a random key of your own (openssl rand -base64 32)')
}

/** Only shells expand paths and remove quotes: files of variables may not. @throws config_invalid where a folder of another name would be used */
function checkPaths(config: Config): void {
  for (const name of [...PATH_SETTINGS, ...OPTIONAL_PATHS, 'FURTHER_RETRIEVERS'] as const) {
    const { [name]: given = '' } = config
    if (/(?:^|,\s*)[~$"']|^\s|\s$/.test(given))
      throw refused(name, `must be a path in full, without ~, variables, quotes and white space at its ends (got ${JSON.stringify(given)})`)
  }
}

/** @throws config_invalid naming the packages that are not installed */
function checkOcr({ OCR }: Config): void {
  const { missing } = OCR === '' ? { missing: [] } : ocrPackages(OCR)
  if (missing.length > 0)
    throw refused('OCR', `needs packages that are not installed: run "npm install --no-save ${missing.join(' ')}" in the program's folder`)
}

/** Bounds of reading a document: milliseconds of CPU time, and bytes; languages of OCR. */
export function documentBounds({ DOCUMENT_PARSE_MS: parseMs, DOCUMENT_MB, OCR: ocr }: Config) {
  return { parseMs, maxBytes: DOCUMENT_MB * 2 ** 20, ocr }
}

/** Precision of a retriever built at start-up: int8 halves the shipped one's time at equal recall; CUDA leaves it to the CPU. */
export function retrieverDtype(checkpoint: string, provider: unknown): Dtype {
  const shipped = path.join(packageRoot(), SHIPPED_RETRIEVER)
  return provider !== 'cuda' && path.resolve(checkpoint) === shipped ? 'int8' : 'f32'
}

/** Each further model is a process with its weights in memory. */
const MOST_FURTHER_RETRIEVERS = 4

/** Folders of the further retrievers. @throws config_invalid for too many */
export function furtherRetrievers({ FURTHER_RETRIEVERS: list }: Pick<Config, 'FURTHER_RETRIEVERS'>): string[] {
  const folders = listed(list)
  if (folders.length > MOST_FURTHER_RETRIEVERS)
    throw refused('FURTHER_RETRIEVERS', `must name at most ${MOST_FURTHER_RETRIEVERS} folders (got ${folders.length})`)
  return folders
}

/**
 * For an index in an object store: the store is configured by the usual variables of its tools, and files that are stored with the index by
 * default need folders of their own.
 * @throws config_invalid
 */
function useObjectStore(config: Config, env: NodeJS.ProcessEnv): void {
  config.INDEX_DIR = checkAddress(config.INDEX_DIR, 'CEPE_INDEX_DIR')
  if (config.ROLE !== 'replica' && config.JOBS_DIR === undefined)
    throw refused('JOBS_DIR', `must be set to a folder on a disk that lasts, since INDEX_DIR is in an object store`)
  if (config.STATE_DISK_MB > 0 && config.STATE_DIR === undefined)
    throw refused('STATE_DIR', `must be set to a folder, since INDEX_DIR is in an object store`)
  configureStores(storeSettingsOf(env))
}

/**
 * Defaults that depend on other settings. Shipped model and corpus are only defaults for each other: a user's own folder is never filled,
 * or replaced, with them.
 */
function companions(given: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const data = typeof given['DATA_DIR'] === 'string' ? path.resolve(given['DATA_DIR']) : undefined
  // Shipped models and corpus may be stored below DATA_DIR, as in the package's own folders.
  const folders = { READER_DIR: 'models/reader', RETRIEVER_DIR: 'models/retriever', INDEX_DIR: 'index', KEYS_DIR: 'keys' }
  const found: Record<string, unknown> = {}
  for (const [name, folder] of Object.entries(folders))
    if (data !== undefined && given[name] === undefined) found[name] = path.join(data, folder)
  const models = data === undefined ? path.join(packageRoot(), 'models/built') : path.join(data, 'models')
  // 8 bits in blocks give the same answers as f32 in a quarter of its memory; CUDA leaves both to the CPU.
  const shipped = ['READER_CHECKPOINT', 'READER_DIR'].every((name) => given[name] === undefined)
  const DTYPE = given['DTYPE'] ?? (given['PROVIDER'] === 'cuda' ? 'f16' : shipped ? 'int8-blocks' : DEFAULT_DTYPE)
  found['DTYPE'] = DTYPE
  for (const model of ['READER', 'RETRIEVER'] as const) {
    const [checkpoint, dir] = [given[`${model}_CHECKPOINT`], given[`${model}_DIR`]]
    if (dir !== undefined && checkpoint === undefined) found[`${model}_CHECKPOINT`] = ''
    if (dir === undefined && typeof checkpoint === 'string') {
      const readerDtype = typeof DTYPE === 'string' ? DTYPE : DEFAULT_DTYPE
      const dtype = model === 'READER' ? readerDtype : retrieverDtype(checkpoint, given['PROVIDER'])
      found[`${model}_DIR`] = path.join(models, `${path.basename(path.resolve(checkpoint))}-${dtype}`)
    }
  }
  const ownIndex = ['INDEX_DIR', 'TABLE', 'RETRIEVER_DIR', 'RETRIEVER_CHECKPOINT'].some((name) => given[name] !== undefined)
  if (ownIndex && given['CORPUS'] === undefined) found['CORPUS'] = ''
  return found
}

interface Setting {
  readonly type?: string
  readonly enum?: readonly string[]
  readonly pattern?: string
  readonly minimum?: number
  readonly maximum?: number
}

/** Converts texts to numbers and booleans; invalid ones stay texts, and the schema rejects them. */
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
  error: { instancePath: string; message: string; keyword: string } | undefined,
  names: Partial<Record<keyof Config, string>>,
): CodedError {
  const name = error?.instancePath.slice(1) as keyof Config
  // Secrets are never shown, valid or not.
  const value = name.endsWith('_KEY') ? 'the value is not shown' : `got ${JSON.stringify(given[name])}`
  const problem = rangeOf(ConfigSchema.properties[name], error?.keyword) ?? error?.message ?? 'is not valid'
  return refused(name, `${problem} (${value})`, names[name])
}

function refused(name: keyof Config, problem: string, as = PREFIX + name): CodedError {
  return invalidConfig(as, `${as.startsWith('--') ? 'Option' : 'Setting'} ${as} ${problem}.`)
}

/** Allowed values of a setting, if they can be described briefly. */
function rangeOf(setting: Setting, failed: string | undefined): string | undefined {
  const { type, pattern, minimum, maximum } = setting
  if (setting.enum) return `must be one of ${setting.enum.join(', ')}`
  if (type === 'boolean') return 'must be true or false'
  if (type === 'integer' || type === 'number')
    return `must be a ${type === 'integer' ? 'whole number' : 'number'} from ${minimum} to ${maximum}`
  if (pattern === TABLE_NAME) return TABLE_NAME_FORM
  if (pattern === BASE_PATH) return 'must be a path such as /qa, without a slash at its end, and not begin with /v1 or /docs'
  return failed === 'pattern' ? 'must not be blank' : undefined
}

const PROXY_NAMES = ['loopback', 'linklocal', 'uniquelocal']

/** @throws config_invalid unless it is a number of proxies or a list of addresses, networks and names of networks */
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

const isHttp = (url: string): boolean => URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)

/** Settings that are lists, with the form of their parts. */
const LISTS = {
  CORS_ORIGINS: {
    form: 'origins, each scheme://host or scheme://host:port',
    isValid: (origin: string) => isHttp(origin) && new URL(origin).origin === origin,
  },
  ALLOWED_HOSTS: {
    form: 'host names, without scheme and port',
    isValid: (name: string) => /^(?:[\w.-]+|\[[\da-f:.]+\])$/i.test(name),
  },
  FETCH: {
    form: 'hosts as their addresses have them, in small letters, with a port where it is no default one',
    isValid: (host: string) =>
      ['https', 'http'].some((scheme) => isHttp(`${scheme}://${host}/`) && new URL(`${scheme}://${host}/`).host === host),
  },
}

/** @throws config_invalid for an invalid part of a list, or an invalid address */
function checkLists(config: Config): void {
  for (const name of ['CORS_ORIGINS', 'ALLOWED_HOSTS', 'FETCH'] as const)
    for (const part of listed(config[name]))
      if (part.includes('*') || !LISTS[name].isValid(part))
        throw refused(name, `must be a list of ${LISTS[name].form}, without wildcards (got ${JSON.stringify(part)})`)
}

/** @throws config_invalid for an invalid address */
function checkUrls(urls: Config): void {
  for (const name of ['TRACES_URL', 'PUBLIC_URL'] as const)
    if (urls[name] !== '' && (!isHttp(urls[name]) || (name === 'PUBLIC_URL' && /[?#]/.test(urls[name]))))
      throw refused(
        name,
        `must be an http or https address${name === 'PUBLIC_URL' ? ' without query' : ''} (got ${JSON.stringify(urls[name])})`,
      )
}

/** Placeholder keys in examples and manifests. */
const PLACEHOLDER =
  /(?:replace|change|insert)[-_ ]?(?:this|me|it|a[-_ ]?key)|(?:your|example|sample|default|dummy)[-_ ]?(?:admin[-_ ]?)?key|placeholder/i

/** Splits a comma-separated setting. */
export function listed(setting: string): string[] {
  return setting
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
}

/** The Hugging Face hub for checkpoints, from the variables of its own tools: HF_ENDPOINT and HF_TOKEN. */
export function hubSettings(): { readonly url: string; readonly token: string | null } {
  const { HF_ENDPOINT: endpoint, HF_TOKEN: token } = environment()
  const url = (endpoint || 'https://huggingface.co').replace(/\/+$/, '')
  if (!isHttp(url)) throw invalidConfig('HF_ENDPOINT', `HF_ENDPOINT must be an http or https address (got ${JSON.stringify(url)}).`)
  return { url, token: token || null }
}

/** Disables warnings of libraries that a user cannot act on, unless the user's variables say otherwise. Call before they are loaded. */
export function disableLibraryWarnings(): void {
  // LanceDB: a partition without rows, at every index update. Its errors are still written.
  process.env['LANCEDB_LOG'] ??= 'error'
  // AWS SDK: the Node version. Supported versions follow from the locked dependencies.
  process.env['AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED'] ??= 'true'
}

/** Sets the folder of temporary files for this process and its libraries. */
export function setTemporaryFolder(folder: string): void {
  process.env['TMPDIR'] = folder
}

/** The key for commands that call a running service (CEPE_KEY). */
export function clientKey(): string | undefined {
  return environment()[CLIENT_KEY] || undefined
}

function environment(): NodeJS.ProcessEnv {
  // A folder of that name is a Python virtual environment, for example.
  const [link, file] = [lstatSync('.env', { throwIfNoEntry: false }), statSync('.env', { throwIfNoEntry: false })]
  // Fails for a link whose target is missing: its settings must not be left out.
  if (link !== undefined && file?.isDirectory() !== true) loadEnvFile('.env')
  return process.env
}

/** Calibration files to look for: a configured file must exist, the others may. */
export function calibrationFiles({ CALIBRATION, INDEX_DIR, TABLE }: Pick<Config, 'CALIBRATION' | 'INDEX_DIR' | 'TABLE'>) {
  return {
    ...(CALIBRATION !== undefined && { named: CALIBRATION }),
    // A calibration belongs to a reader and is read once, at the start; for an index in an object store it must be configured
    // (CALIBRATION).
    ...(storeOf(INDEX_DIR).keepsFiles && { own: path.join(INDEX_DIR, `calibration.${TABLE}.json`) }),
    shipped: path.join(packageRoot(), 'index/corpus/calibration.json'),
  }
}
