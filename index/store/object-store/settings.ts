/** How the object store is reached. What is absent is found by the libraries' own means: roles of machines, pods and tasks. */
export interface StoreSettings {
  readonly endpoint?: string
  readonly region?: string
  /** Unencrypted connections to the endpoint are allowed. */
  readonly allowHttp?: boolean
  /** Longest wait for an answer to begin, in milliseconds. */
  readonly answerMs?: number
  readonly credentials?: { readonly accessKeyId: string; readonly secretAccessKey: string; readonly sessionToken?: string }
}

let settings: StoreSettings = {}
let changes = 0

/** To be called before an index in an object store is opened, by who read the environment. Of one process, since the store is the same for all of it. */
export function configureStores(given: StoreSettings): void {
  settings = given
  changes++
}

/** What was configured last; nothing where nothing was. */
export function storeSettings(): StoreSettings {
  return settings
}

/** Another number once other settings were given. */
export function settingsVersion(): number {
  return changes
}

/** Longest wait for an answer to begin, in milliseconds. */
export function answerMs(): number {
  return settings.answerMs ?? ANSWER_MS
}

/** Longest wait for a connection, and for an answer that does not begin. */
export const CONNECT_MS = 3000
const ANSWER_MS = 15_000
/** Attempts of one request, the first among them. */
export const ATTEMPTS = 4

/** The same for LanceDB, as it names them. */
export function lanceStorageOptions(): Record<string, string> {
  const { endpoint, region, allowHttp, credentials } = settings
  return {
    ...(endpoint === undefined ? {} : { aws_endpoint: endpoint }),
    ...(region === undefined ? {} : { aws_region: region }),
    ...(allowHttp === true ? { allow_http: 'true' } : {}),
    ...(credentials && {
      aws_access_key_id: credentials.accessKeyId,
      aws_secret_access_key: credentials.secretAccessKey,
      ...(credentials.sessionToken === undefined ? {} : { aws_session_token: credentials.sessionToken }),
    }),
    connect_timeout: `${CONNECT_MS} ms`,
    timeout: `${2 * answerMs()} ms`,
    client_max_retries: String(ATTEMPTS - 1),
    client_retry_timeout: String(Math.ceil((2 * answerMs()) / 1000)),
  }
}
