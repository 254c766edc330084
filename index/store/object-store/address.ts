import { CodedError } from '../../../base/errors.ts'

/** Bucket name, and a path without special segments. */
const ADDRESS = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])((?:\/[A-Za-z0-9._=+-]+)*)\/*$/

/**
 * Validates and normalises the address of an index in an object store: no trailing slash.
 * @throws config_invalid for an invalid address, or a store whose conditional writes are not supported
 */
export function checkAddress(address: string, field: string): string {
  const scheme = address.slice(0, address.indexOf(':')).toLowerCase()
  if (scheme !== 's3')
    throw new CodedError(
      'config_invalid',
      `${field} is an address of ${scheme}://, which is not supported: of object stores those of the S3 protocol are (s3://bucket/prefix), since an index is changed by conditional writes, which differ elsewhere.`,
      { field },
    )
  const [, bucket, path = ''] = ADDRESS.exec(address) ?? []
  if (bucket === undefined || path.split('/').some((part) => /^\.+$/.test(part)))
    throw new CodedError(
      'config_invalid',
      `${field} is not a bucket address: use s3://bucket/prefix, the prefix of letters, digits and . _ = + - (got ${JSON.stringify(address.slice(0, 200))}).`,
      { field },
    )
  return `s3://${bucket}${path}`
}

/** Bucket and key of an address. */
export function bucketAndKey(address: string): { readonly Bucket: string; readonly Key: string } {
  const [bucket = '', ...parts] = address.slice('s3://'.length).split('/')
  return { Bucket: bucket, Key: parts.join('/') }
}
