import { CodedError } from '../../../base/errors.ts'

/** A bucket's name, and a path of parts that mean themselves. */
const ADDRESS = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])((?:\/[A-Za-z0-9._=+-]+)*)\/*$/

/**
 * The address of an index in an object store, as it is used everywhere: without a slash at its end.
 * @throws config_invalid for one that is none, or of a store whose conditional writes this software does not know.
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
      `${field} is no address of a bucket: it should read s3://bucket/prefix, the prefix of letters, digits and . _ = + - (got ${JSON.stringify(address.slice(0, 200))}).`,
      { field },
    )
  return `s3://${bucket}${path}`
}

/** Bucket and key of an address. */
export function bucketAndKey(address: string): { readonly Bucket: string; readonly Key: string } {
  const [bucket = '', ...parts] = address.slice('s3://'.length).split('/')
  return { Bucket: bucket, Key: parts.join('/') }
}
