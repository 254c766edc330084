import multipart from '@fastify/multipart'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest, onRequestAsyncHookHandler } from 'fastify'
import { createReadStream } from 'node:fs'
import { Readable } from 'node:stream'
import { Type, type Static } from 'typebox'
import { CodedError } from '../../../base/errors.ts'
import { exists } from '../../../base/exists.ts'
import type { Jobs } from '../../jobs/contract.ts'
import { JOB_ID, JobOptionsSchema, JobSchema, type Job, type JobOptions } from '../../jobs/schema.ts'
import { ADMIN_SECURITY } from '../auth/admin-guard.ts'
import { bodyErrorResponses, errorResponses } from '../errors/error-body.ts'
import { isDocument } from '../../jobs/folder/list.ts'
import type { UploadedFile } from '../../jobs/upload/contract.ts'
import { isArchive } from '../../jobs/upload/archive-name.ts'
import { filesOf, formFiles, hashedFiles } from '../request/upload-parts.ts'
import { hashedBody, IdempotencyHeaders, requestFingerprint, type Once } from '../idempotency/idempotency.ts'

export interface AdminIndexJobsOptions {
  readonly jobs: Jobs
  /** Refuses requests without the admin key, before their body is read. */
  readonly requireAdmin: onRequestAsyncHookHandler
  /** Does what has an idempotency key once. */
  readonly once: Once
  /** Path under which a proxy serves the routes. */
  readonly basePath: string
}

const STREAMED = [
  'text/tab-separated-values',
  'text/csv',
  'application/x-ndjson',
  'application/jsonl',
  'application/gzip',
  'application/x-gzip',
  'application/zstd',
  'application/octet-stream',
  'application/zip',
  'application/x-tar',
]
/** Archives of documents and tables, with a name for each. */
const ARCHIVES: ReadonlyMap<string, string> = new Map([
  ['application/zip', 'upload.zip'],
  ['application/x-tar', 'upload.tar'],
])
/** Files of one form. */
const MOST_FILES = 2000
/** The body as the documentation shows it: what is streamed or a form has no schema to be checked against. */
const DOCUMENTED_BODY = {
  content: {
    ...Object.fromEntries(
      STREAMED.map((type) => [
        type,
        {
          schema: {
            type: 'string',
            format: 'binary',
            description: 'The corpus; its format is detected from the content unless `format` is given.',
          },
        },
      ]),
    ),
    'multipart/form-data': {
      schema: {
        type: 'object',
        properties: {
          file: {
            type: 'string',
            format: 'binary',
            description:
              'A table, a document (Markdown, HTML, PDF, text, DOCX, EPUB) or an archive of them (.zip, .tar, .tar.gz); the form may hold several files.',
          },
        },
        required: ['file'],
      },
    },
  },
}
const IdSchema = Type.Object({ id: Type.String({ pattern: JOB_ID }) })
const ListSchema = Type.Object({ jobs: Type.Array(JobSchema) })
const ImportSchema = Type.Object(
  {
    source: Type.String({ minLength: 1, maxLength: 1000, description: 'File, archive or folder in the import folder; `.` for all of it.' }),
    ...JobOptionsSchema.properties,
  },
  { additionalProperties: false },
)

const REPORT = Type.Unsafe<Readable | string>({ type: 'string' })

/** Bulk indexing: POST a corpus, follow, cancel and resume jobs. */
export const adminIndexJobs: FastifyPluginAsyncTypebox<AdminIndexJobsOptions> = async (app, { jobs, requireAdmin, once, basePath }) => {
  app.addHook('onRequest', requireAdmin)
  // The jobs limit the size of every kind of upload.
  await app.register(multipart, { limits: { files: MOST_FILES, fields: 0, fileSize: Infinity } })
  for (const type of STREAMED) app.addContentTypeParser(type, (_request, payload, done) => done(null, payload))

  app.post(
    '/v1/admin/index-jobs',
    {
      config: { upload: true, accepts: ['application/json', 'multipart/form-data', ...STREAMED], documentedBody: DOCUMENTED_BODY },
      schema: {
        tags: ['index'],
        security: ADMIN_SECURITY,
        operationId: 'createIndexJob',
        summary: 'Index a corpus',
        description:
          'The body is the corpus: tab-separated values as in psgs_w100.tsv, CSV, JSON lines ({id, title, text}, {_id, ...} or {id, contents}) or a JSON array of them (as application/octet-stream), gzip or zstd of either, or one of them as a multipart file, with the options in the query; or a form of documents and tables or archives of them, or such an archive itself (application/zip, application/x-tar); or JSON that names a file or folder of the import folder.',
        headers: IdempotencyHeaders,
        querystring: JobOptionsSchema,
        body: { content: { 'application/json': { schema: ImportSchema } } },
        response: { 202: JobSchema, ...bodyErrorResponses(401, 403, 404, 422, 507) },
      },
    },
    async (request, reply) => {
      const job = await orderJob({ request, reply, jobs, once, options: request.query })
      return reply.code(202).header('location', `${basePath}/v1/admin/index-jobs/${job.id}`).send(job)
    },
  )
  app.post(
    '/v1/admin/index/reembed',
    {
      schema: {
        tags: ['index'],
        security: ADMIN_SECURITY,
        operationId: 'createReembeddingJob',
        summary: "Embed the table's own passages with the retriever in service",
        description:
          'For a table of another retriever, as after an upgrade. A job makes the new table beside the present one, from its texts, and puts it in its place once it is verified. One that is under way or stopped goes on.',
        headers: IdempotencyHeaders,
        response: { 202: JobSchema, ...errorResponses(401, 403, 409, 422, 503, 507) },
      },
    },
    async (request, reply) => {
      const job = await once(request, reply, { fingerprint: () => requestFingerprint(request), work: () => jobs.addReembed() })
      return reply.code(202).header('location', `/v1/admin/index-jobs/${job.id}`).send(job)
    },
  )
  followingRoutes(app, jobs)
}

/** What there is of jobs that were ordered. */
function followingRoutes(app: Parameters<FastifyPluginAsyncTypebox>[0], jobs: Jobs): void {
  const tagged = { tags: ['index'], security: ADMIN_SECURITY }
  const listed = { operationId: 'listIndexJobs', summary: 'List index jobs', response: { 200: ListSchema, ...errorResponses(401, 403) } }
  app.get('/v1/admin/index-jobs', { schema: { ...tagged, ...listed } }, async () => ({ jobs: await jobs.list() }))

  const one = { ...tagged, params: IdSchema, response: { 200: JobSchema, ...errorResponses(401, 403, 404, 409) } }
  app.get('/v1/admin/index-jobs/:id', { schema: { ...one, operationId: 'getIndexJob', summary: 'Progress of an index job' } }, (request) =>
    jobs.get(request.params.id),
  )
  app.delete('/v1/admin/index-jobs/:id', { schema: { ...one, operationId: 'cancelIndexJob', summary: 'Cancel an index job' } }, (request) =>
    jobs.cancel(request.params.id),
  )
  app.post(
    '/v1/admin/index-jobs/:id/resume',
    { schema: { ...one, operationId: 'resumeIndexJob', summary: 'Resume a stopped index job' } },
    (request) => jobs.resume(request.params.id),
  )

  const summary = 'All rejected lines of an index job, as JSON lines'
  const response = { 200: REPORT, ...errorResponses(401, 403, 404) }
  app.get(
    '/v1/admin/index-jobs/:id/report',
    { schema: { ...tagged, operationId: 'getIndexJobReport', summary, params: IdSchema, response } },
    async (request, reply) => {
      const path = await jobs.reportPath(request.params.id)
      return reply.type('application/x-ndjson').send((await exists(path)) ? createReadStream(path) : '')
    },
  )
}

interface JobOrder {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly jobs: Jobs
  readonly once: Once
  /** The query's; a body of JSON brings its own. */
  readonly options: JobOptions
}

/** Makes a job of what the body is: a form, the corpus itself, or JSON. @throws invalid_request for a body without a corpus */
async function orderJob({ request, reply, jobs, once, options }: JobOrder): Promise<Job> {
  const uploaded = (body: AsyncIterable<unknown>, name?: string): Promise<Job> => {
    const { bytes, fingerprint } = hashedBody(request, body)
    return once(request, reply, { fingerprint, work: () => received(reply, () => jobs.addUpload({ bytes, name, options })) })
  }
  const archive = (body: AsyncIterable<unknown>, name: string): Promise<Job> => {
    const { bytes, fingerprint } = hashedBody(request, body)
    return once(request, reply, { fingerprint, work: () => received(reply, () => jobs.addFiles({ files: [{ name, bytes }], options })) })
  }
  if (request.isMultipart()) {
    const { files, digest } = hashedFiles(filesOf(request))
    const fingerprint = async (): Promise<string> => requestFingerprint({ method: request.method, url: request.url, body: await digest() })
    return once(request, reply, { fingerprint, work: () => fromForm({ reply, jobs, options }, files) })
  }
  if (request.body instanceof Readable) {
    const type = request.headers['content-type']?.split(';')[0]?.trim().toLowerCase()
    return type === undefined || !ARCHIVES.has(type) ? uploaded(request.body) : archive(request.body, ARCHIVES.get(type) ?? '')
  }
  if (request.body === undefined || request.body === null)
    throw new CodedError(
      'invalid_request',
      'The body is empty: send the corpus, or JSON that names a file or folder of the import folder.',
      {
        field: 'body',
      },
    )
  const { source, ...named } = request.body as Static<typeof ImportSchema>
  return once(request, reply, { fingerprint: () => requestFingerprint(request), work: () => jobs.addImport(source, named) })
}

/** One table, or the files of a form. */
async function fromForm(
  { reply, jobs, options }: Pick<JobOrder, 'reply' | 'jobs' | 'options'>,
  files: AsyncGenerator<UploadedFile>,
): Promise<Job> {
  return received(reply, async () => {
    const form = await formFiles(files, (name) => !isDocument(name) && !isArchive(name))
    return 'table' in form ? jobs.addUpload({ ...form.table, options }) : jobs.addFiles({ ...form, options })
  })
}

/** @throws client_closed if the upload was cut off. */
async function received(reply: FastifyReply, order: () => Promise<Job>): Promise<Job> {
  try {
    return await order()
  } catch (error) {
    // The rest of the body is not read; another request must not wait behind it.
    void reply.header('connection', 'close')
    const cut =
      error instanceof Error && 'code' in error && ['ECONNRESET', 'ERR_STREAM_PREMATURE_CLOSE', 'ABORT_ERR'].includes(String(error.code))
    throw cut ? new CodedError('client_closed', 'The upload was cut off; nothing was indexed.', { field: 'body', cause: error }) : error
  }
}
