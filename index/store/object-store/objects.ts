import { createWriteStream } from 'node:fs'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type * as Sdk from '@aws-sdk/client-s3'
import { CodedError } from '../../../base/errors.ts'
import { eachOf } from '../each-of.ts'
import { statusOf, storeError } from './errors.ts'
import { ATTEMPTS, bucketAndKey, CONNECT_MS, storeSettings } from './settings.ts'

/** An object small enough to be held in memory. */
interface StoredObject {
  readonly text: string
  /** Changes with every write. */
  readonly etag: string
  readonly modified: Date | undefined
}

/** Precondition of a write: the object is absent, or unchanged since it was read. */
type Condition = { readonly absent: true } | { readonly etag: string }

/** Loaded on demand: an index in a folder does not need it. */
async function open() {
  const s3 = await import('@aws-sdk/client-s3')
  const { endpoint, region, credentials, answerMs } = storeSettings()
  const client = new s3.S3Client({
    ...(endpoint === undefined ? {} : { endpoint, forcePathStyle: true }),
    ...(region === undefined ? {} : { region }),
    ...(credentials && { credentials }),
    maxAttempts: ATTEMPTS,
    requestHandler: { connectionTimeout: CONNECT_MS, requestTimeout: answerMs, throwOnRequestTimeout: true, socketTimeout: answerMs },
    // Additional checksums are an AWS extension that not all stores support.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
  })
  return { s3, client }
}
type Opened = Awaited<ReturnType<typeof open>>

let opened: { readonly with: ReturnType<typeof storeSettings>; readonly by: Promise<Opened> } | undefined

/**
 * @param ifAbsent called if the object does not exist
 * @throws config_invalid for errors caused by settings, store_unavailable otherwise; every request has a timeout
 */
async function ask<T>(address: string, work: (opened: Opened) => Promise<T>, ifAbsent?: (error: unknown) => T): Promise<T> {
  try {
    if (opened?.with !== storeSettings()) opened = { with: storeSettings(), by: open() }
    return await work(await opened.by)
  } catch (error) {
    if (ifAbsent !== undefined && isAbsent(error)) return ifAbsent(error)
    throw storeError(error, address)
  }
}

/** @throws not_found */
function gone(address: string): (cause: unknown) => never {
  return (cause) => {
    throw new CodedError('not_found', `${address} has gone.`, { cause })
  }
}

function isAbsent(error: unknown): boolean {
  return error instanceof Error && (error.name === 'NoSuchKey' || (statusOf(error) === 404 && error.name !== 'NoSuchBucket'))
}

/** Reads an object. @returns undefined if it does not exist */
export function readObject(address: string, encoding?: 'latin1'): Promise<StoredObject | undefined> {
  const get = async ({ s3, client }: Opened): Promise<StoredObject> => {
    const { Body, ETag, LastModified } = await client.send(new s3.GetObjectCommand(bucketAndKey(address)))
    if (Body === undefined || ETag === undefined) throw new Error('an answer without content')
    return { text: await Body.transformToString(encoding), etag: ETag, modified: LastModified }
  }
  return ask<StoredObject | undefined>(address, get, () => undefined)
}

/**
 * Writes an object atomically if a condition holds. After a lost response this throws although the object may have been written; after a
 * client's retry it may report a failed condition although the first attempt succeeded.
 * @returns its etag; undefined if the condition does not hold
 */
export function putObject(address: string, text: string, condition?: Condition): Promise<string | undefined> {
  return ask(address, async ({ s3, client }) => {
    const when = condition === undefined ? {} : 'absent' in condition ? { IfNoneMatch: '*' } : { IfMatch: condition.etag }
    try {
      const { ETag } = await client.send(
        new s3.PutObjectCommand({ ...bucketAndKey(address), Body: text, ContentType: 'application/json', ...when }),
      )
      if (ETag === undefined) throw new Error('an answer without an ETag')
      return ETag
    } catch (error) {
      const status = statusOf(error)
      // 404: the object to replace is gone. 409: another write came in between.
      if (condition !== undefined && (status === 412 || status === 409 || isAbsent(error))) return undefined
      throw error
    }
  })
}

/** Pages of a listing below an address, with the common prefix of the keys. */
async function* pagesOf(address: string, options: Pick<Sdk.ListObjectsV2CommandInput, 'Delimiter' | 'MaxKeys'>) {
  const { Bucket, Key } = bucketAndKey(address)
  const prefix = Key === '' ? '' : `${Key}/`
  let token: string | undefined
  do {
    const page = await ask(address, ({ s3, client }) =>
      client.send(new s3.ListObjectsV2Command({ Bucket, Prefix: prefix, ContinuationToken: token, ...options })),
    )
    yield { page, prefix }
    token = page.NextContinuationToken
  } while (token !== undefined)
}

/** Objects below an address, by name, which is relative to it. @param most stops after this many */
export async function* listObjects(address: string, most = Infinity) {
  let given = 0
  for await (const { page, prefix } of pagesOf(address, most < 1000 ? { MaxKeys: most } : {}))
    for (const { Key: key = '', Size: bytes, LastModified: modified } of page.Contents ?? []) {
      const name = key.slice(prefix.length)
      // A trailing slash marks a folder, as created by consoles.
      if (bytes === undefined || modified === undefined || name === '' || name.endsWith('/')) continue
      yield { name, bytes, modified }
      if (++given >= most) return
    }
}

/** Names directly below an address, as in a folder: of objects, and first path segments of deeper ones. */
export async function listNames(address: string): Promise<string[]> {
  const names = new Set<string>()
  for await (const { page, prefix } of pagesOf(address, { Delimiter: '/' })) {
    for (const { Key: key = '' } of page.Contents ?? []) names.add(key.slice(prefix.length))
    for (const { Prefix: deeper = '' } of page.CommonPrefixes ?? []) names.add(deeper.slice(prefix.length, -1))
  }
  return [...names].filter((name) => name !== '').sort()
}

/** Largest object that one request copies. */
const MOST_COPIED = 5 * 2 ** 30

/** Copies an object within the store. @throws not_found if it is gone, unsupported above 5 GiB */
export function copyObject(from: string, to: string, bytes: number): Promise<void> {
  const message = `${from} has more than 5 GiB, and is not copied within the store: restore or snapshot by its own means.`
  if (bytes > MOST_COPIED) throw new CodedError('unsupported', message)
  const { Bucket, Key } = bucketAndKey(from)
  const CopySource = `${Bucket}/${Key.split('/').map(encodeURIComponent).join('/')}`
  const copy = async ({ s3, client }: Opened): Promise<void> => {
    await client.send(new s3.CopyObjectCommand({ ...bucketAndKey(to), CopySource }))
  }
  return ask(from, copy, gone(from))
}

/** Downloads an object into a new file. @throws not_found if it is gone */
export function downloadObject(address: string, path: string): Promise<void> {
  const download = async ({ s3, client }: Opened): Promise<void> => {
    const { Body, ContentLength } = await client.send(new s3.GetObjectCommand(bucketAndKey(address)))
    if (!(Body instanceof Readable)) throw new Error('an answer without content')
    const file = createWriteStream(path, { flags: 'wx' })
    await pipeline(Body, file)
    if (ContentLength !== undefined && file.bytesWritten !== ContentLength) throw new Error('an answer that was cut off')
  }
  return ask(address, download, gone(address))
}

/** Deletes an object; idempotent. */
export function deleteObject(address: string): Promise<void> {
  return ask(address, async ({ s3, client }) => {
    await client.send(new s3.DeleteObjectCommand(bucketAndKey(address)))
  })
}

/** Concurrent requests when many objects are deleted. */
const AT_ONCE = 16

export async function deleteBeneath(address: string): Promise<void> {
  const names: string[] = []
  for await (const { name } of listObjects(address)) names.push(name)
  await eachOf(names, AT_ONCE, (name) => deleteObject(`${address}/${name}`))
}
