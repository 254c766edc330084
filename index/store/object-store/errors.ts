import { CodedError, invalidConfig, messageOf, osCode } from '../../../base/errors.ts'
import { isObject } from '../../../base/json.ts'
import { bucketAndKey, storeSettings } from './settings.ts'

/** HTTP status of the store's response, if there was one. */
export function statusOf(error: unknown): number | undefined {
  const metadata = isObject(error) ? error['$metadata'] : undefined
  const status = isObject(metadata) ? metadata['httpStatusCode'] : undefined
  return typeof status === 'number' ? status : undefined
}

function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : ''
}

/** Maps an error of the store to a coded error with a remedy, without keys or addresses but the index's (`publicText` hides that). */
export function storeError(error: unknown, address: string): CodedError {
  if (error instanceof CodedError) return error
  const { Bucket: bucket } = bucketAndKey(address)
  const [name, status] = [nameOf(error), statusOf(error)]
  const invalid = (what: string): CodedError => invalidConfig('CEPE_INDEX_DIR', what, error)
  if (name === 'CredentialsProviderError' || /could not load credentials/i.test(messageOf(error)))
    return invalid(
      `There are no credentials for s3://${bucket}: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or run where a role is given.`,
    )
  if (/region is missing/i.test(messageOf(error))) return invalid(`There is no region for s3://${bucket}: set AWS_REGION.`)
  if (name === 'NoSuchBucket') return invalid(`There is no bucket s3://${bucket}: make it, or correct CEPE_INDEX_DIR or AWS_ENDPOINT_URL.`)
  if (status === 301 || status === 307 || name === 'AuthorizationHeaderMalformed' || name === 'PermanentRedirect')
    return invalid(
      `The bucket s3://${bucket} is in another region than ${storeSettings().region ?? 'the one that is set'}: set AWS_REGION.`,
    )
  if (['InvalidAccessKeyId', 'SignatureDoesNotMatch', 'ExpiredToken', 'InvalidToken'].includes(name))
    return invalid(
      `The store rejects the credentials (${name}): check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, and the clock.`,
    )
  if (status === 403 || status === 401)
    return invalid(
      `These credentials may not do that in s3://${bucket} (${name}): allow s3:ListBucket, s3:GetObject and, except for replicas, s3:PutObject and s3:DeleteObject.`,
    )
  const message = `The object store of the index does not answer (${causeOf(error)}): check AWS_ENDPOINT_URL, the network, and the store itself.`
  return new CodedError('store_unavailable', message, { field: 'CEPE_INDEX_DIR', retryAfterS: 5, cause: error })
}

/** Short cause: error texts of clients contain addresses and headers. */
function causeOf(error: unknown): string {
  const status = statusOf(error)
  const name = nameOf(error)
  return osCode(error) ?? (status === undefined ? name : `${name}, HTTP ${status}`)
}
