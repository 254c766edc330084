import { CodedError } from '../../../base/errors.ts'
import type { StoreSettings } from './settings.ts'

/**
 * Reads the store's settings from the usual S3 environment variables.
 * @throws config_invalid without a region, or with an invalid endpoint
 */
export function storeSettingsOf(env: Readonly<Record<string, string | undefined>>): StoreSettings {
  const endpoint = env['AWS_ENDPOINT_URL_S3'] || env['AWS_ENDPOINT_URL'] || env['AWS_ENDPOINT'] || undefined
  const region = env['AWS_REGION'] || env['AWS_DEFAULT_REGION'] || (endpoint === undefined ? undefined : 'us-east-1')
  const { AWS_ALLOW_HTTP: http = '' } = env
  const allowHttp = /^(true|1)$/i.test(http)
  const bad = (field: string, message: string): CodedError => new CodedError('config_invalid', message, { field })
  if (endpoint !== undefined && !/^https?:$/.test(URL.canParse(endpoint) ? new URL(endpoint).protocol : ''))
    throw bad('AWS_ENDPOINT_URL', 'AWS_ENDPOINT_URL must be an http or https address, for instance https://minio.internal:9000.')
  if (endpoint?.startsWith('http:') === true && !allowHttp)
    throw bad(
      'AWS_ALLOW_HTTP',
      'AWS_ENDPOINT_URL is an http address: passages would travel unencrypted. Set AWS_ALLOW_HTTP=true to allow it.',
    )
  if (region === undefined)
    throw bad('AWS_REGION', 'CEPE_INDEX_DIR is in an object store of AWS: set AWS_REGION to the region of its bucket.')
  const [accessKeyId, secretAccessKey, sessionToken] = [env['AWS_ACCESS_KEY_ID'], env['AWS_SECRET_ACCESS_KEY'], env['AWS_SESSION_TOKEN']]
  if (Boolean(accessKeyId) !== Boolean(secretAccessKey))
    throw bad('AWS_ACCESS_KEY_ID', 'AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY belong together: one of them is not set.')
  return {
    ...(endpoint !== undefined && { endpoint: endpoint.replace(/\/+$/, '') }),
    region,
    allowHttp,
    ...(accessKeyId && secretAccessKey && { credentials: { accessKeyId, secretAccessKey, ...(sessionToken && { sessionToken }) } }),
  }
}
