import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type, type Static } from 'typebox'
import type { PassageIndex } from '../../../../index/passage-index.ts'
import { READ_LIMITS } from '../../../../index/read/contract.ts'
import { storedId } from '../../../../index/read/validate.ts'
import { FilterSchema } from '../../../../index/filter-schema.ts'
import { CollectionNameSchema } from '../../../../index/table-name.ts'
import { PassageMetadataSchema } from '../../../../index/passage-metadata.ts'
import { CodedError } from '../../../../base/errors.ts'
import { openPassageFile } from '../../../jobs/kept/served-file.ts'
import { errorResponses, mediaResponse } from '../../errors/error-body.ts'
import { IdempotencyHeaders } from '../../idempotency/idempotency.ts'
import { EvidenceSchema } from '../../../rag/schema.ts'
import { noPassage, passageOf, withFile } from '../../../rag/search.ts'
import { closed } from '../../../text/fields.ts'
import type { Routes } from '../context.ts'

/** Maximum passages of a request. */
export const MOST_PASSAGES = 1000
const IdSchema = Type.String({ minLength: 1, maxLength: READ_LIMITS.idBytes })
export const PassageSchema = Type.Object(
  {
    id: IdSchema,
    title: Type.String({ maxLength: READ_LIMITS.titleBytes }),
    text: Type.String({ minLength: 1, maxLength: READ_LIMITS.textBytes }),
    source: Type.Optional(Type.String({ maxLength: READ_LIMITS.sourceCharacters, description: 'Origin of the passage; can be filtered.' })),
    metadata: Type.Optional(PassageMetadataSchema),
  },
  { additionalProperties: false, title: 'Passage' },
)
/** A stored passage as the API returns it. */
export const StoredPassageSchema = Type.Object(
  { ...PassageSchema.properties, file: EvidenceSchema.properties.file },
  { title: 'StoredPassage' },
)
export const DeleteSchema = Type.Union([
  closed({ ids: Type.Array(IdSchema, { minItems: 1, maxItems: MOST_PASSAGES }) }),
  closed({ filter: FilterSchema }),
])
export const DeletedSchema = Type.Object({ deleted: Type.Integer() })
export const ParamsSchema = Type.Object({ id: IdSchema })
/** Query of routes that read or change the passages of a collection. */
export const CollectionQuerySchema = Type.Object({ collection: Type.Optional(CollectionNameSchema) })

const tags = ['passages']

/** Reads and deletes passages. When a change is acknowledged, it is durable and visible to the next question. */
export const passagesRoutes: Routes = (app, { access, once }) => {
  const find = {
    tags,
    operationId: 'getPassage',
    summary: 'Get a passage',
    params: ParamsSchema,
    querystring: CollectionQuerySchema,
    response: { 200: StoredPassageSchema, ...errorResponses(404) },
  }
  app.get('/v1/passages/:id', { schema: find }, async (request) => {
    const { id } = request.params
    const { collection } = request.query
    const index = await access.index(request, collection)
    const passage = await passageOf(index, id)
    return withFile(passage, await access.answering(request).fileOf?.(passage, collection))
  })

  const deleteOnce = async (
    request: FastifyRequest<{ Querystring: Static<typeof CollectionQuerySchema> }>,
    reply: FastifyReply,
    work: (index: PassageIndex) => Promise<number>,
  ): Promise<{ deleted: number }> => {
    const index = await access.index(request, request.query.collection)
    return once(request, reply, { collection: index.table, work: async () => ({ deleted: await work(index) }) })
  }
  const deletion = { tags, headers: IdempotencyHeaders, querystring: CollectionQuerySchema }
  const one = {
    ...deletion,
    operationId: 'deletePassage',
    summary: 'Delete a passage',
    params: ParamsSchema,
    response: { 200: DeletedSchema, ...errorResponses(404, 409, 422) },
  }
  app.delete('/v1/passages/:id', { onRequest: app.requireAdmin, schema: one }, async (request, reply) => {
    const { id } = request.params
    return deleteOnce(request, reply, async (index) => {
      const deleted = await index.delete([storedId(id)])
      if (deleted === 0) throw noPassage(id)
      return deleted
    })
  })

  const several = {
    ...deletion,
    operationId: 'deletePassages',
    summary: 'Delete passages by ids or by filter',
    body: DeleteSchema,
    response: { 200: DeletedSchema, ...errorResponses(404, 409, 422) },
  }
  app.post('/v1/passages/delete', { onRequest: app.requireAdmin, schema: several }, async (request, reply) => {
    const { body } = request
    return deleteOnce(request, reply, (index) => index.delete('ids' in body ? body.ids.map(storedId) : body.filter))
  })
}

const TEXT = /\.(?:md|markdown|txt|text|tsv|csv|jsonl|ndjson|json)$/i

/** Media type and disposition. Types without active content are shown inline, all others are downloaded. */
function shownAs(name: string): { readonly type: string; readonly disposition: 'inline' | 'attachment' } {
  if (/\.pdf$/i.test(name)) return { type: 'application/pdf', disposition: 'inline' }
  if (TEXT.test(name)) return { type: 'text/plain; charset=utf-8', disposition: 'inline' }
  return { type: 'application/octet-stream', disposition: 'attachment' }
}

const NO_FILES = 'The service gives out no files: whoever runs it sets CEPE_SERVE_FILES=true, and CEPE_IMPORT_DIR or CEPE_KEEP_UPLOADS_MB.'

/** GET /v1/passages/:id/file: the source file of a passage. */
export const passageFileRoutes: Routes = (app, { access, files }) => {
  const schema = {
    tags: ['passages'],
    operationId: 'getPassageFile',
    summary: 'Download the file of a passage (import folder and stored uploads)',
    params: ParamsSchema,
    querystring: CollectionQuerySchema,
    response: {
      200: mediaResponse('The file.', 'application/octet-stream', 'application/pdf', 'text/plain'),
      ...errorResponses(403, 404, 503),
    },
  }
  app.get('/v1/passages/:id/file', { schema }, async (request, reply) => {
    const { id } = request.params
    const index = await access.index(request, request.query.collection)
    if (files === undefined) throw new CodedError('forbidden', NO_FILES, { field: 'id' })
    const passage = await passageOf(index, id)
    const { handle, name, bytes } = await openPassageFile(files, {
      ...passage,
      table: index.table,
      isBound: request.holder?.collections !== undefined,
    })
    const { type, disposition } = shownAs(name)
    // RFC 5987.
    const quoted = encodeURIComponent(name.toWellFormed()).replace(/['()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`)
    void reply.type(type).headers({
      'content-disposition': `${disposition}; filename*=UTF-8''${quoted}`,
      'content-length': bytes,
      'cache-control': 'private, no-cache',
      // Not for PDF: the viewers of browsers do not run in a sandbox.
      ...(type !== 'application/pdf' && { 'content-security-policy': "sandbox; default-src 'none'" }),
    })
    if (bytes > 0) return reply.send(handle.createReadStream({ end: bytes - 1 }))
    await handle.close()
    return reply.send('')
  })
}
