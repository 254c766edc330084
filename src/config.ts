import { isIP } from 'node:net'
import path from 'node:path'
import { statSync } from 'node:fs'
import { loadEnvFile } from 'node:process'
import Value from 'typebox/value'
import { CodedError } from '../base/errors.ts'
import { checkAddress } from '../index/store/object-store/address.ts'
import { storeSettingsOf } from '../index/store/object-store/environment.ts'
import { configureStores } from '../index/store/object-store/settings.ts'
import { storeOf } from '../index/store/store-of.ts'
import { packageRoot, packageVersion } from './package.ts'
import { BASE_PATH, ConfigSchema, DEFAULT_DTYPE, TABLE_NAME, type Config } from './settings.ts'

const PREFIX = 'CEPE_'
/** Of commands that ask a service, see {@link clientKey}: no setting of one. */
const CLIENT_KEY = `${PREFIX}KEY`

export { packageRoot, packageVersion }

const PATH_SETTINGS = [
  'READER_CHECKPOINT',
  'READER_DIR',
  'RETRIEVER_CHECKPOINT',
  'RETRIEVER_DIR',
  'INDEX_DIR',
  'CORPUS',
  'DEMONSTRATIONS',
  'KEYS_DIR',
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
    if (variable === CLIENT_KEY) continue
    if (variable.startsWith(PREFIX) && value !== undefined && value !== '') given[variable.slice(PREFIX.length)] = value
    // An empty variable switches an optional file off where that is meaningful.
    else if (['CEPE_CORPUS', 'CEPE_DEMONSTRATIONS', 'CEPE_CALIBRATION'].includes(variable)) given[variable.slice(PREFIX.length)] = ''
  }
  const unknown = Object.keys(given).find((name) => !(name in ConfigSchema.properties))
  if (unknown !== undefined) {
    throw new CodedError('config_invalid', `Unknown setting ${PREFIX}${unknown}; docs/configuration.md lists the settings.`, {
      field: PREFIX + unknown,
    })
  }
  for (const [name, value] of Object.entries(overrides)) if (value !== undefined) given[name] = value
  Object.assign(given, companions(given))
  const defaultPaths = new Set<string>(PATH_SETTINGS.filter((name) => given[name] === undefined))
  const config: unknown = Value.Default(ConfigSchema, fromText(given))
  if (!Value.Check(ConfigSchema, config)) throw invalidSetting(given, Value.Errors(ConfigSchema, config)[0])
  checkProxies(config.TRUST_PROXY)
  checkUrls(config)
  checkHosts(config)
  checkAdminKey(config)
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
  for (const name of ['DATA_DIR', 'IMPORT_DIR', 'JOBS_DIR', 'STATE_DIR', 'CALIBRATION', 'FEEDBACK', 'MIRROR_DIR'] as const) {
    const folder = config[name]
    if (folder && !storeOf(folder).keepsFiles) throw refused(name, `must be a folder (got ${JSON.stringify(folder)})`)
    if (folder) config[name] = path.resolve(folder)
  }
  return config
}

/** Models beside the first: each is a process with its weights in memory. */
const MOST_FURTHER_RETRIEVERS = 4

/** Folders of the further retrievers. @throws config_invalid for too many */
export function furtherRetrievers({ FURTHER_RETRIEVERS: list }: Pick<Config, 'FURTHER_RETRIEVERS'>): string[] {
  const folders = listed(list)
  if (folders.length > MOST_FURTHER_RETRIEVERS)
    throw refused('FURTHER_RETRIEVERS', `must name at most ${MOST_FURTHER_RETRIEVERS} folders (got ${folders.length})`)
  return folders
}

/**
 * An index in an object store: how the store is reached is told by the variables that its own tools use. What else lies in the
 * index's folder by default needs a folder of its own.
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
 * Defaults that follow from what is given. The shipped model and corpus only stand in for each other:
 * a folder of the user's own is never filled, or replaced, with the shipped ones.
 */
function companions(given: Readonly<Record<string, unknown>>): Record<string, string> {
  const data = typeof given['DATA_DIR'] === 'string' ? path.resolve(given['DATA_DIR']) : undefined
  const found = data === undefined ? {} : foldersIn(data, given)
  const models = data === undefined ? path.join(packageRoot(), 'models/built') : path.join(data, 'models')
  for (const model of ['READER', 'RETRIEVER'] as const) {
    const [checkpoint, dir] = [given[`${model}_CHECKPOINT`], given[`${model}_DIR`]]
    if (dir !== undefined && checkpoint === undefined) found[`${model}_CHECKPOINT`] = ''
    if (dir === undefined && typeof checkpoint === 'string') {
      const { DTYPE = DEFAULT_DTYPE } = given
      const dtype = model === 'READER' && typeof DTYPE === 'string' ? DTYPE : 'f32'
      found[`${model}_DIR`] = path.join(models, `${path.basename(path.resolve(checkpoint))}-${dtype}`)
    }
  }
  // Eight bits in blocks answer as f32 does, in a quarter of its memory.
  const shipped = ['READER_CHECKPOINT', 'READER_DIR', 'DTYPE'].every((name) => given[name] === undefined)
  if (shipped && given['PROVIDER'] !== 'cuda') found['DTYPE'] = 'int8-blocks'
  const ownIndex = ['INDEX_DIR', 'TABLE', 'RETRIEVER_DIR', 'RETRIEVER_CHECKPOINT'].some((name) => given[name] !== undefined)
  if (ownIndex && given['CORPUS'] === undefined) found['CORPUS'] = ''
  return found
}

/** Places in DATA_DIR of what has none of its own. Shipped models and corpus may be put there, as into the package's own folders. */
function foldersIn(data: string, given: Readonly<Record<string, unknown>>): Record<string, string> {
  const folders = {
    READER_DIR: path.join(data, 'models/reader'),
    RETRIEVER_DIR: path.join(data, 'models/contriever'),
    INDEX_DIR: path.join(data, 'index'),
    KEYS_DIR: path.join(data, 'keys'),
  }
  return Object.fromEntries(Object.entries(folders).filter(([name]) => given[name] === undefined))
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
  if (pattern === TABLE_NAME) return 'must be 1 to 64 letters, digits, "-" and "_", a letter first'
  if (pattern === BASE_PATH) return 'must be a path such as /qa, without a slash at its end, and not begin with /v1 or /docs'
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

/** @throws config_invalid for an origin with more than scheme, host and port, or an address of traces that is none */
function checkUrls({ CORS_ORIGINS: origins, TRACES_URL: traces }: Config): void {
  const isHttp = (url: string): boolean => URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)
  for (const origin of listed(origins))
    if (!isHttp(origin) || new URL(origin).origin !== origin)
      throw refused('CORS_ORIGINS', `must be a list of origins, each scheme://host or scheme://host:port (got ${JSON.stringify(origin)})`)
  if (traces !== '' && !isHttp(traces)) throw refused('TRACES_URL', `must be an http or https address (got ${JSON.stringify(traces)})`)
}

/** @throws config_invalid for what has more than a host's name or address in it */
function checkHosts({ ALLOWED_HOSTS: names }: Config): void {
  for (const name of listed(names))
    if (!/^(?:[\w.-]+|\[[\da-f:.]+\])$/i.test(name))
      throw refused('ALLOWED_HOSTS', `must be a list of host names, without scheme and port (got ${JSON.stringify(name)})`)
}

/** Texts that stand for a key in examples and manifests. */
const PLACEHOLDER =
  /(?:replace|change|insert)[-_ ]?(?:this|me|it|a[-_ ]?key)|(?:your|example|sample|default|dummy)[-_ ]?(?:admin[-_ ]?)?key|placeholder/i

/** @throws config_invalid for a key that everybody can read in an example */
function checkAdminKey({ ADMIN_KEY: key }: Config): void {
  if (key !== undefined && PLACEHOLDER.test(key))
    throw refused('ADMIN_KEY', 'is a placeholder, which everybody knows: set a random key of your own (openssl rand -base64 32)')
}

/** What a setting lists, separated by commas. */
export function listed(setting: string): string[] {
  return setting
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
}

/** The Hugging Face hub that checkpoints are fetched from, by the variables of its own tools: HF_ENDPOINT and HF_TOKEN. */
export function hubSettings(): { readonly url: string; readonly token: string | null } {
  const { HF_ENDPOINT: endpoint, HF_TOKEN: token } = environment()
  return { url: (endpoint || 'https://huggingface.co').replace(/\/+$/, ''), token: token || null }
}

/**
 * Turns off warnings that libraries write on standard error and that a user cannot act on, unless the user's own variables
 * say otherwise. To be called before the libraries are loaded.
 */
export function quietLibraries(): void {
  // LanceDB: a partition without rows, at every index update. Its errors are written.
  process.env['LANCEDB_LOG'] ??= 'error'
  // AWS SDK: the Node version. Which ones it runs on is settled by the locked dependencies, not by whoever runs a command.
  process.env['AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED'] ??= 'true'
}

/** Where this process, and what it loads, puts temporary files from now on. */
export function setTemporaryFolder(folder: string): void {
  process.env['TMPDIR'] = folder
}

/** The key with which commands ask a running service (CEPE_KEY). */
export function clientKey(): string | undefined {
  return environment()[CLIENT_KEY] || undefined
}

function environment(): NodeJS.ProcessEnv {
  // A folder of that name is one of Python's virtual environments, say.
  if (statSync('.env', { throwIfNoEntry: false })?.isDirectory() === false) loadEnvFile('.env')
  return process.env
}

/** Where a calibration is looked for: the file that is named must be there, the others may be. */
export function calibrationFiles({ CALIBRATION, INDEX_DIR, TABLE }: Pick<Config, 'CALIBRATION' | 'INDEX_DIR' | 'TABLE'>): {
  readonly named?: string
  readonly own?: string
  readonly shipped: string
} {
  return {
    ...(CALIBRATION !== undefined && { named: CALIBRATION }),
    // A calibration is of a reader and read once, at the start: one of an index in an object store is named (CALIBRATION).
    ...(storeOf(INDEX_DIR).keepsFiles && { own: path.join(INDEX_DIR, `calibration.${TABLE}.json`) }),
    shipped: path.join(packageRoot(), 'index/corpus/calibration.json'),
  }
}
