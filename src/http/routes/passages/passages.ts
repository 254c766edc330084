import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type, type Static } from '#typebox'
import type { PassageIndex } from '../../../../index/passage-index.ts'
import { READ_LIMITS } from '../../../../index/read/contract.ts'
import { storedId } from '../../../../index/read/validate.ts'
import { FilterSchema } from '../../../../index/filter-schema.ts'
import { CollectionNameSchema } from '../../../../index/table-name.ts'
import { PassageMetadataSchema } from '../../../../index/passage-metadata.ts'
import { ADMIN_SECURITY } from '../../auth/auth.ts'
import { bodyErrorResponses, errorResponses } from '../../errors/error-body.ts'
import { IdempotencyHeaders, requestFingerprint } from '../../idempotency/idempotency.ts'
import { EvidenceSchema } from '../../../rag/schema.ts'
import { noPassage, passageOf, withFile } from '../../../rag/search.ts'
import type { Routes } from '../context.ts'

/** Maximum passages of a request. */
export const MOST_PASSAGES = 1000
const IdSchema = Type.String({ minLength: 1, maxLength: READ_LIMITS.idBytes })
export const PassageSchema = Type.Object(
  {
    id: IdSchema,
    title: Type.String({ maxLength: READ_LIMITS.titleBytes }),
    text: Type.String({ minLength: 1, maxLength: READ_LIMITS.textBytes }),
    source: Type.Optional(Type.String({ maxLength: 1000, description: 'Origin of the passage; can be filtered.' })),
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
  Type.Object({ ids: Type.Array(IdSchema, { minItems: 1, maxItems: MOST_PASSAGES }) }, { additionalProperties: false }),
  Type.Object({ filter: FilterSchema }, { additionalProperties: false }),
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
    return once(request, reply, {
      collection: index.table,
      fingerprint: () => requestFingerprint(request),
      work: async () => ({ deleted: await work(index) }),
    })
  }
  const deletion = { tags, security: ADMIN_SECURITY, headers: IdempotencyHeaders, querystring: CollectionQuerySchema }
  const one = {
    ...deletion,
    operationId: 'deletePassage',
    summary: 'Delete a passage',
    params: ParamsSchema,
    response: { 200: DeletedSchema, ...errorResponses(401, 403, 404, 409, 422) },
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
    response: { 200: DeletedSchema, ...bodyErrorResponses(401, 403, 404, 409, 422) },
  }
  app.post('/v1/passages/delete', { onRequest: app.requireAdmin, schema: several }, async (request, reply) => {
    const { body } = request
    return deleteOnce(request, reply, (index) => index.delete('ids' in body ? body.ids.map(storedId) : body.filter))
  })
}
