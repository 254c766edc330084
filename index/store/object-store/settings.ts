import { invalidConfig } from '../../../base/errors.ts'

/** Bucket name, and a path without special segments. */
const ADDRESS = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])((?:\/[A-Za-z0-9._=+-]+)*)\/*$/

/**
 * Validates and normalises the address of an index in an object store: no trailing slash.
 * @throws config_invalid for an invalid address, or a store whose conditional writes are not supported
 */
export function checkAddress(address: string, field: string): string {
  const scheme = address.slice(0, address.indexOf(':')).toLowerCase()
  const foreign = `${field} is an address of ${scheme}://, which is not supported: of object stores those of the S3 protocol are (s3://bucket/prefix), since an index is changed by conditional writes, which differ elsewhere.`
  if (scheme !== 's3') throw invalidConfig(field, foreign)
  const [, bucket, path = ''] = ADDRESS.exec(address) ?? []
  const malformed = `${field} is not a bucket address: use s3://bucket/prefix, the prefix of letters, digits and . _ = + - (got ${JSON.stringify(address.slice(0, 200))}).`
  if (bucket === undefined || path.split('/').some((part) => /^\.+$/.test(part))) throw invalidConfig(field, malformed)
  return `s3://${bucket}${path}`
}

export function bucketAndKey(address: string): { readonly Bucket: string; readonly Key: string } {
  const [bucket = '', ...parts] = address.slice('s3://'.length).split('/')
  return { Bucket: bucket, Key: parts.join('/') }
}

/** Reads the store's settings from the usual S3 variables. @throws config_invalid without a region, or with an invalid endpoint */
export function storeSettingsOf(env: Readonly<Record<string, string | undefined>>) {
  const endpoint = env['AWS_ENDPOINT_URL_S3'] || env['AWS_ENDPOINT_URL'] || env['AWS_ENDPOINT'] || undefined
  const region = env['AWS_REGION'] || env['AWS_DEFAULT_REGION'] || (endpoint === undefined ? undefined : 'us-east-1')
  const { AWS_ALLOW_HTTP: http = '' } = env
  const allowHttp = /^(true|1)$/i.test(http)
  if (endpoint !== undefined && !/^https?:$/.test(URL.canParse(endpoint) ? new URL(endpoint).protocol : ''))
    throw invalidConfig('AWS_ENDPOINT_URL', 'AWS_ENDPOINT_URL must be an http or https address, for instance https://minio.internal:9000.')
  const message = 'AWS_ENDPOINT_URL is an http address: passages would travel unencrypted. Set AWS_ALLOW_HTTP=true to allow it.'
  if (endpoint?.startsWith('http:') === true && !allowHttp) throw invalidConfig('AWS_ALLOW_HTTP', message)
  if (region === undefined)
    throw invalidConfig('AWS_REGION', 'CEPE_INDEX_DIR is in an object store of AWS: set AWS_REGION to the region of its bucket.')
  const [accessKeyId, secretAccessKey, sessionToken] = [env['AWS_ACCESS_KEY_ID'], env['AWS_SECRET_ACCESS_KEY'], env['AWS_SESSION_TOKEN']]
  if (Boolean(accessKeyId) !== Boolean(secretAccessKey))
    throw invalidConfig('AWS_ACCESS_KEY_ID', 'AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY belong together: one of them is not set.')
  return {
    ...(endpoint !== undefined && { endpoint: endpoint.replace(/\/+$/, '') }),
    region,
    /** Allows unencrypted connections to the endpoint. */
    allowHttp,
    ...(accessKeyId && secretAccessKey && { credentials: { accessKeyId, secretAccessKey, ...(sessionToken && { sessionToken }) } }),
  }
}

/** Settings of the object store. Absent values are resolved by the client libraries: roles of machines, pods and tasks. */
interface StoreSettings extends Partial<ReturnType<typeof storeSettingsOf>> {
  /** Longest wait for the first byte of a response, in milliseconds. */
  readonly answerMs?: number
}

/** Longest wait for a connection or for the first byte. */
export const CONNECT_MS = 3000
const ANSWER_MS = 15_000
/** Attempts per request, including the first. */
export const ATTEMPTS = 4

let settings = { answerMs: ANSWER_MS } as StoreSettings & { readonly answerMs: number }

/** Call before an index in an object store is opened, with the settings of the environment. Global, since a process uses one store. */
export function configureStores(given: StoreSettings): void {
  settings = { answerMs: ANSWER_MS, ...given }
}

/** The current settings: another object after every change. */
export function storeSettings() {
  return settings
}

/** The same settings under LanceDB's names. */
export function lanceStorageOptions(): Record<string, string> {
  const { endpoint, region, allowHttp, credentials, answerMs } = settings
  const options = {
    aws_endpoint: endpoint,
    aws_region: region,
    allow_http: allowHttp === true ? 'true' : undefined,
    aws_access_key_id: credentials?.accessKeyId,
    aws_secret_access_key: credentials?.secretAccessKey,
    aws_session_token: credentials?.sessionToken,
    connect_timeout: `${CONNECT_MS} ms`,
    timeout: `${2 * answerMs} ms`,
    client_max_retries: String(ATTEMPTS - 1),
    client_retry_timeout: String(Math.ceil((2 * answerMs) / 1000)),
  }
  return Object.fromEntries(Object.entries(options).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])))
}
