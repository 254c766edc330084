import multipart from '@fastify/multipart'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Type, type Static } from 'typebox'
import { unknownJob } from '../../../jobs/record/store.ts'
import { JOB_ID, JobSchema, type Job } from '../../../jobs/record/schema.ts'
import { errorResponses, mediaResponse } from '../../errors/error-body.ts'
import { createIndexJob, ImportSchema, JobQuerySchema } from './create-index-job.ts'
import type { App, RouteContext, Routes } from '../context.ts'
import { CollectionQuerySchema } from '../passages/passages.ts'
import { streamResponse } from '../../request/stream-response.ts'
import { documentedForm, UPLOAD_LIMITS } from '../../request/upload-parts.ts'
import { IdempotencyHeaders } from '../../idempotency/idempotency.ts'

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
const corpus = { type: 'string', format: 'binary', description: 'The corpus. The format is detected unless `format` is set.' }
const FILE = 'A table, a document or an archive (.zip, .tar, .tar.gz). A form may contain several files, named by their relative paths.'
/** Body for the OpenAPI document only: streamed bodies are not validated by a schema. */
const DOCUMENTED_BODY = { content: { ...Object.fromEntries(STREAMED.map((type) => [type, { schema: corpus }])), ...documentedForm(FILE) } }
const TAKES = {
  upload: 'corpus',
  accepts: ['application/json', 'multipart/form-data', ...STREAMED],
  documentedBody: DOCUMENTED_BODY,
} as const
const IdSchema = Type.Object({ id: Type.String({ pattern: JOB_ID }) })
const ListSchema = Type.Object({
  jobs: Type.Array(JobSchema),
  unreadable: Type.Array(Type.String(), {
    description: 'Ids of jobs whose record is damaged or of newer software: GET one for the remedy.',
  }),
})
type OfJob = FastifyRequest<{ Params: Static<typeof IdSchema> }>

/** Routes of bulk indexing: create, follow, cancel and resume jobs. */
export const adminIndexJobsRoutes: Routes = async (app, context) => {
  const { access, once, services, config } = context
  const accepted = (reply: FastifyReply, job: Job): FastifyReply =>
    reply.code(202).header('location', `${config.BASE_PATH}/v1/admin/index-jobs/${job.id}`).send(shown(job, app.publicText))
  // The jobs limit the size of uploads themselves.
  await app.register(multipart, { limits: UPLOAD_LIMITS, preservePath: true })
  for (const type of STREAMED) app.addContentTypeParser(type, (_request, payload, done) => done(null, payload))

  const create = {
    tags: ['index'],
    operationId: 'createIndexJob',
    summary: 'Index a corpus',
    description:
      'The body is a table (TSV, CSV, JSON lines or array, gzip or zstd), an archive, a multipart form of files, or JSON with `source` (import folder) or `urls`. docs/corpus.md lists the formats.',
    headers: IdempotencyHeaders,
    querystring: JobQuerySchema,
    body: { content: { 'application/json': { schema: ImportSchema } } },
    response: { 202: JobSchema, ...errorResponses(404, 409, 422, 507) },
  }
  app.post('/v1/admin/index-jobs', { config: TAKES, schema: create }, async (request, reply) =>
    accepted(reply, await createIndexJob(request, reply, context)),
  )
  const reembed = {
    tags: ['index'],
    operationId: 'createReembeddingJob',
    summary: 'Re-embed a table with the retriever in service',
    description:
      'For a table of another retriever, as after an upgrade. The job builds and verifies a new table while the current one serves. An unfinished job is resumed.',
    headers: IdempotencyHeaders,
    querystring: CollectionQuerySchema,
    response: { 202: JobSchema, ...errorResponses(404, 409, 422, 503, 507) },
  }
  app.post('/v1/admin/index/reembed', { schema: reembed }, async (request, reply) => {
    const { table } = await access.index(request, request.query.collection)
    return accepted(reply, await once(request, reply, { collection: table, work: () => services.jobs.addReembed(table) }))
  })
  followingRoutes(app, context)
}

/** A job without paths of this machine. */
function shown(job: Job, publicText: FastifyInstance['publicText']): Job {
  const { source, error, warnings, recent_rejects: rejects } = job
  return {
    ...job,
    source: { ...source, path: source.path && publicText(source.path) },
    error: error && { ...error, message: publicText(error.message) },
    warnings: warnings.map((warning) => publicText(warning)),
    recent_rejects: rejects.map((reject) => ({ ...reject, detail: publicText(reject.detail, true) })),
  }
}

function followingRoutes(app: App, { services: { jobs }, access }: RouteContext): void {
  /** Treats jobs of collections that the key may not use as missing. */
  const own = async (request: OfJob): Promise<string> => {
    const { id } = request.params
    if (!access.mayUse(request, (await jobs.get(id)).table)) throw unknownJob(id)
    return id
  }
  const tagged = { tags: ['index'] }
  const list = { ...tagged, operationId: 'listIndexJobs', summary: 'List index jobs', response: { 200: ListSchema } }
  app.get('/v1/admin/index-jobs', { schema: list }, async (request) => ({
    jobs: (await jobs.list()).filter(({ table }) => access.mayUse(request, table)).map((job) => shown(job, app.publicText)),
    unreadable: await jobs.unreadable(),
  }))

  const one = { ...tagged, params: IdSchema, response: { 200: JobSchema, ...errorResponses(404, 409) } }
  const changes = [
    { method: 'GET', path: '', act: 'get', operationId: 'getIndexJob', summary: 'Get an index job' },
    { method: 'DELETE', path: '', act: 'cancel', operationId: 'cancelIndexJob', summary: 'Cancel an index job' },
    { method: 'POST', path: '/resume', act: 'resume', operationId: 'resumeIndexJob', summary: 'Resume a stopped index job' },
  ] as const
  for (const { method, path, act, ...named } of changes) {
    const handler = async (request: OfJob) => shown(await jobs[act](await own(request)), app.publicText)
    app.route({ method, url: `/v1/admin/index-jobs/:id${path}`, schema: { ...one, ...named }, handler })
  }

  const rejected = mediaResponse('One rejected line or skipped file per line, as JSON.', 'application/x-ndjson')
  const summary = 'Download the rejected lines of an index job, as JSON lines'
  const ofJob = { ...tagged, params: IdSchema, response: { 200: rejected, ...errorResponses(404) } }
  const report = { ...ofJob, operationId: 'getIndexJobReport', summary }
  app.get('/v1/admin/index-jobs/:id/report', { schema: report }, async (request, reply) => {
    const lines = await jobs.report(await own(request))
    const shown = async function* (): AsyncGenerator<string> {
      for await (const line of lines) yield `${app.publicText(line, true)}\n`
    }
    return streamResponse(reply, 'application/x-ndjson', shown())
  })
}
