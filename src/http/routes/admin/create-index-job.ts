import type { FastifyReply, FastifyRequest } from 'fastify'
import { Readable } from 'node:stream'
import { Type, type Static } from 'typebox'
import { CodedError, invalidField, invalidRequest } from '../../../../base/errors.ts'
import { TWICE } from '../../../../base/json.ts'
import { CollectionNameSchema } from '../../../../index/table-name.ts'
import { listed } from '../../../config.ts'
import { LONGEST_ADDRESS } from '../../../crawl/contract.ts'
import type { Jobs } from '../../../jobs/jobs.ts'
import type { Upload } from '../../../jobs/orders.ts'
import type { UploadedFile } from '../../../jobs/sources/take.ts'
import { ARCHIVE, isDocument } from '../../../jobs/sources/list.ts'
import { JobOptionsSchema, type Job, type JobOptions } from '../../../jobs/record/schema.ts'
import { optionalName } from '../../../text/fields.ts'
import { MOST_ADDRESSES } from '../../../jobs/sources/fetch-pages.ts'
import { hashedBody, requestFingerprint } from '../../idempotency/idempotency.ts'
import type { RouteContext } from '../context.ts'
import { charsetOf, filesOf, formFiles, hashedFiles } from '../../request/upload-parts.ts'

/** File name assigned to an archive by its media type. */
const ARCHIVES = new Map(Object.entries({ 'application/zip': 'upload.zip', 'application/x-tar': 'upload.tar' }))
export const ImportSchema = Type.Object(
  {
    source: optionalName(1000, 'File, archive or folder in the import folder; `.` for the whole folder.'),
    urls: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: LONGEST_ADDRESS }), {
        minItems: 1,
        maxItems: MOST_ADDRESSES,
        description: 'Instead of `source`: URLs of pages and sitemaps on the hosts in CEPE_FETCH.',
      }),
    ),
    collection: Type.Optional(CollectionNameSchema),
    ...JobOptionsSchema.properties,
  },
  { additionalProperties: false },
)

export const JobQuerySchema = Type.Object({ ...JobOptionsSchema.properties, collection: Type.Optional(CollectionNameSchema) })

/** Creates a job from the body: a form, a corpus or JSON. @throws invalid_request for an empty body, and an option in both query and JSON */
export async function createIndexJob(
  request: FastifyRequest<{ Querystring: Static<typeof JobQuerySchema> }>,
  reply: FastifyReply,
  { services: { jobs }, access, config, once }: RouteContext,
): Promise<Job> {
  const { collection, ...options } = request.query
  const sent: unknown = request.body
  const body: Static<typeof ImportSchema> | undefined = sent === null || sent instanceof Readable ? undefined : sent
  const twice = Object.keys(request.query).find((name) => body && Object.hasOwn(body, name))
  if (twice !== undefined) throw invalidField(twice, TWICE)
  const { table } = await access.index(request, body?.collection ?? collection)
  if (request.isMultipart()) {
    const { files, digest } = hashedFiles(filesOf(request))
    const fingerprint = async (): Promise<string> => requestFingerprint({ method: request.method, url: request.url, body: await digest() })
    return once(request, reply, {
      collection: table,
      fingerprint,
      work: () => fromForm(jobs, files, { options, table }),
    })
  }
  if (request.body instanceof Readable) {
    const type = request.headers['content-type']?.split(';')[0]?.trim().toLowerCase()
    const name = ARCHIVES.get(type ?? '')
    // Not destroyed when reading stops early: the rest is read after the response.
    const { bytes, fingerprint } = hashedBody(request, request.body.iterator({ destroyOnReturn: false }))
    const create = (): Promise<Job> =>
      name === undefined
        ? jobs.addUpload({ bytes, options: withEncoding(options, charsetOf(request.headers['content-type'])), table })
        : jobs.addFiles({ files: [{ name, bytes }], options, table })
    return once(request, reply, { collection: table, fingerprint, work: create })
  }
  const empty = 'The body is empty: send the corpus, or JSON that names a file or folder of the import folder or pages of the web.'
  if (body === undefined) throw invalidRequest('body', empty)
  return once(request, reply, {
    collection: table,
    work: () =>
      importJob({ ...options, ...body }, table, { jobs, fetchHosts: listed(config.FETCH), only: request.holder?.collections && table }),
  })
}

/** Creates the job of a JSON body. @throws invalid_request unless it names exactly one source; forbidden if fetching is disabled */
function importJob(
  { source, urls, collection: _, ...options }: Static<typeof ImportSchema>,
  table: string,
  { jobs, fetchHosts, only }: { readonly jobs: Jobs; readonly fetchHosts: string[]; readonly only: string | undefined },
): Promise<Job> {
  if (source !== undefined && urls === undefined) return jobs.addImport(source, options, table, only)
  if (urls === undefined || source !== undefined)
    throw invalidRequest('source', 'Name either source, a file or folder of the import folder, or urls, pages of the web.')
  if (fetchHosts.length === 0)
    throw new CodedError('forbidden', 'The service fetches no pages: whoever runs it lists their hosts in CEPE_FETCH.', { field: 'urls' })
  return jobs.addPages({ urls, hosts: fetchHosts }, options, table)
}

/** The options with the encoding that a content type names, unless they name one. */
function withEncoding(options: JobOptions, encoding: string | undefined): JobOptions {
  return encoding === undefined || options.encoding !== undefined ? options : { ...options, encoding }
}

async function fromForm(jobs: Jobs, files: AsyncGenerator<UploadedFile>, { options, table }: Omit<Upload, 'bytes'>): Promise<Job> {
  const form = await formFiles(files, (name) => !isDocument(name) && !ARCHIVE.test(name))
  if (!('table' in form)) return jobs.addFiles({ ...form, options, table })
  const { encoding, ...file } = form.table
  return jobs.addUpload({ ...file, options: withEncoding(options, encoding), table })
}
