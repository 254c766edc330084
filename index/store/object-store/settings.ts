/** Settings of the object store. Absent values are resolved by the client libraries: roles of machines, pods and tasks. */
export interface StoreSettings {
  readonly endpoint?: string
  readonly region?: string
  /** Allow unencrypted connections to the endpoint. */
  readonly allowHttp?: boolean
  /** Longest wait for the first byte of a response, in milliseconds. */
  readonly answerMs?: number
  readonly credentials?: { readonly accessKeyId: string; readonly secretAccessKey: string; readonly sessionToken?: string }
}

let settings: StoreSettings = {}
let changes = 0

/** Call before an index in an object store is opened, with the settings of the environment. Global, since a process uses one store. */
export function configureStores(given: StoreSettings): void {
  settings = given
  changes++
}

/** The current settings; empty by default. */
export function storeSettings(): StoreSettings {
  return settings
}

/** Increases whenever the settings change. */
export function settingsVersion(): number {
  return changes
}

/** Longest wait for the first byte of a response, in milliseconds. */
export function answerMs(): number {
  return settings.answerMs ?? ANSWER_MS
}

/** Longest wait for a connection or for the first byte. */
export const CONNECT_MS = 3000
const ANSWER_MS = 15_000
/** Attempts per request, including the first. */
export const ATTEMPTS = 4

/** The same settings under LanceDB's names. */
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
