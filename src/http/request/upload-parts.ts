import type { FastifyRequest } from 'fastify'
import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { CodedError, invalidField, invalidRequest, osCode } from '../../../base/errors.ts'
import type { UploadedFile } from '../../jobs/sources/take.ts'
import { hashing } from '../../../base/files.ts'
import { peek } from '../../../index/read/sniff.ts'
import { entryName } from '../../jobs/sources/spool.ts'

/** A table up to this size is buffered until it is known whether other files follow. */
const HELD_BYTES = 8 * 2 ** 20

/** What a form of an upload may hold. */
export const UPLOAD_LIMITS = { files: 2000, fields: 0, fileSize: Infinity } as const

/** A form with a file, for the OpenAPI document only: forms are not validated by a schema. @param fields schemas of further fields */
export function documentedForm(description: string, fields: object = {}) {
  const file = { type: 'string', format: 'binary', description }
  return { 'multipart/form-data': { schema: { type: 'object', properties: { file, ...fields }, required: ['file'] } } }
}

/** The parts of a form. @throws client_closed if the client has left already: the parser would wait for the rest for ever */
export function partsOf(request: FastifyRequest): ReturnType<FastifyRequest['parts']> {
  if (request.raw.destroyed) throw new CodedError('client_closed', 'The client closed the connection before the form was read.')
  return request.parts()
}

/** The error of a file that would be read as another: replaced bytes make one of different names, and forms have no transfer encodings. */
export function fileProblem({ filename, encoding }: { readonly filename?: string; readonly encoding: string }): CodedError | undefined {
  if (/^(?:base64|quoted-printable)$/i.test(encoding)) return invalidField('file', `is sent as ${encoding}: send its bytes`)
  const problem = 'has a name that is not UTF-8: send the name in that encoding, or rename the file'
  return filename?.includes('\ufffd') ? invalidField('file', problem) : undefined
}

/** The files of a form, each to be read to its end before the next. @throws invalid_request for a form with fields or too many files */
export async function* filesOf(request: FastifyRequest): AsyncGenerator<UploadedFile> {
  const typeOf = partTypes(request)
  let files = 0
  try {
    for await (const part of partsOf(request)) {
      if (part.type !== 'file') continue
      const encoding = charsetOf(typeOf(files++))
      try {
        const problem = fileProblem(part)
        if (problem) throw problem
        // Not destroyed when reading stops early: the parser would wait for it forever.
        yield {
          name: part.filename ? entryName(part.filename, 'form') : 'upload',
          bytes: part.file.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>,
          encoding,
        }
      } finally {
        part.file.resume()
      }
    }
  } catch (error) {
    throw beyondLimits(error)
  }
}

/** Maps the parser's limit errors to messages of this route: the shared messages assume one file with fields. */
function beyondLimits(error: unknown): unknown {
  const code = osCode(error)
  if (code === 'FST_FIELDS_LIMIT')
    return invalidRequest('form', 'The form has fields in addition to files: give options in the query (?label=handbook).')
  const tooMany = `The form holds more than ${UPLOAD_LIMITS.files} files: send the others in another request, or all in an archive.`
  return code === 'FST_FILES_LIMIT' ? invalidRequest('form', tooMany) : error
}

/** Hashes streamed files; the rest is read for the digest. */
export function hashedFiles(files: AsyncIterable<UploadedFile>) {
  const hash = createHash('sha256')
  const all = async function* (): AsyncGenerator<UploadedFile> {
    for await (const { name, bytes, encoding } of files) {
      hash.update(`\0${name}\0${encoding ?? ''}\0`)
      const own = hashing(hash, bytes)
      yield { name, bytes: own, encoding }
      for await (const _ of own) continue
    }
  }
  const read = all()
  return {
    files: read,
    digest: async () => {
      for await (const { bytes } of read) for await (const _ of bytes) continue
      return hash.copy().digest('hex')
    },
  }
}

type FormFiles = { readonly table: UploadedFile } | { readonly files: AsyncIterable<UploadedFile> }

/**
 * Whether a form contains one table, which is planned while it is received, or files to store. A large table must be the only file.
 * @param isTable whether a file is neither document nor archive, by its name
 * @throws invalid_request for a form without files
 */
export async function formFiles(files: AsyncGenerator<UploadedFile>, isTable: (name: string) => boolean): Promise<FormFiles> {
  const first = await files.next()
  if (first.done === true) throw invalidRequest('body', 'The form holds no file: send documents, tables, or an archive of them.')
  if (!isTable(first.value.name)) return { files: joined(first.value, files) }
  const { head, all } = await peek(first.value.bytes, HELD_BYTES + 1)
  if (head.length > HELD_BYTES) return { table: { ...first.value, bytes: alone(all, files) } }
  const second = await files.next()
  const table = { ...first.value, bytes: Readable.from([head]) }
  return second.done === true ? { table } : { files: joined(table, joined(second.value, files)) }
}

async function* joined(first: UploadedFile, rest: AsyncIterable<UploadedFile>): AsyncGenerator<UploadedFile> {
  yield first
  yield* rest
}

/** A large table, which no file may follow. */
async function* alone(bytes: AsyncIterable<Buffer>, files: AsyncGenerator<UploadedFile>): AsyncGenerator<Buffer> {
  yield* bytes
  const message = 'A table of this size must be the one file of its form: send the others in another request, or all in an archive.'
  if ((await files.next()).done !== true) throw invalidRequest('body', message)
}

/** Bytes of a part's header that are kept. */
const MOST_HEADER = 16_384
const END = Buffer.from('\r\n\r\n')

/**
 * Content types of a form's files, with their parameters, in the order of the files: the parser drops the parameters. Call before the form
 * is read.
 * @returns the type of the file whose position is given; empty without one
 */
export function partTypes(request: FastifyRequest): (file: number) => string {
  const { 'content-type': whole = '' } = request.headers
  const types: string[] = []
  const boundary = /boundary="?([^";]+)"?/i.exec(whole)?.[1]
  if (boundary === undefined) return () => ''
  const mark = Buffer.from(`--${boundary}\r\n`)
  let held = Buffer.alloc(0)
  request.raw.on('data', (chunk: Buffer) => {
    held = Buffer.concat([held, chunk])
    for (;;) {
      const start = held.indexOf(mark)
      const end = start < 0 ? -1 : held.indexOf(END, start)
      if (end < 0) {
        held = start < 0 ? held.subarray(Math.max(0, held.length - mark.length)) : held.subarray(start).subarray(0, MOST_HEADER)
        return
      }
      const header = held.toString('latin1', start, end)
      const type = /^content-type:\s*(.*)$/im.exec(header)?.[1]?.trim() ?? ''
      if (/^content-disposition:.*filename/im.test(header) || /^application\/octet-stream\b/i.test(type)) types.push(type)
      held = held.subarray(end)
    }
  })
  return (file) => types.at(file) ?? ''
}

/** The encoding that a content type names. */
export function charsetOf(type = ''): string | undefined {
  return /;\s*charset\s*=\s*"?([\w.:-]{1,40})/i.exec(type)?.[1]
}
