import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { onRequestAsyncHookHandler } from 'fastify'
import { Type } from 'typebox'
import type { PassageIndex } from '../../../index/open.ts'
import { READ_LIMITS } from '../../../index/read/contract.ts'
import { storedId } from '../../../index/read/validate.ts'
import { CodedError } from '../../../base/errors.ts'
import type { Embedders } from '../../inference/contract.ts'
import { FilterSchema } from '../../../index/filter-schema.ts'
import { PassageMetadataSchema } from '../../../index/passage-metadata.ts'
import { ADMIN_SECURITY } from '../auth/admin-guard.ts'
import { bodyErrorResponses, errorResponses } from '../errors/error-body.ts'
import { IdempotencyHeaders, requestFingerprint, type Once } from '../idempotency/idempotency.ts'

export interface PassagesOptions extends Embedders {
  readonly index: PassageIndex
  /** Tokens of a text past what is read of a passage. @param model the retriever's id */
  readonly unreadTokens: (text: string, model: string) => number
  readonly requireAdmin: onRequestAsyncHookHandler
  /** Does what has an idempotency key once. */
  readonly once: Once
}

/** Of one request. */
export const MOST_PASSAGES = 1000
const IdSchema = Type.String({ minLength: 1, maxLength: READ_LIMITS.idBytes })
export const PassageSchema = Type.Object(
  {
    id: IdSchema,
    title: Type.String({ maxLength: READ_LIMITS.titleBytes }),
    text: Type.String({ minLength: 1, maxLength: READ_LIMITS.textBytes }),
    source: Type.Optional(Type.String({ maxLength: 1000, description: 'Where it came from; usable as a filter.' })),
    metadata: Type.Optional(PassageMetadataSchema),
  },
  { additionalProperties: false, title: 'Passage' },
)
const DeleteSchema = Type.Union([
  Type.Object({ ids: Type.Array(IdSchema, { minItems: 1, maxItems: MOST_PASSAGES }) }, { additionalProperties: false }),
  Type.Object({ filter: FilterSchema }, { additionalProperties: false }),
])
const DeletedSchema = Type.Object({ deleted: Type.Integer() })
const ParamsSchema = Type.Object({ id: IdSchema })

const tags = ['passages']

/** Single passages: read, delete. Changes are on the disk when they are answered, and seen by the next question. */
export const passages: FastifyPluginAsyncTypebox<PassagesOptions> = (app, { index, requireAdmin, once }) => {
  const find = {
    tags,
    operationId: 'getPassage',
    summary: 'Read a passage',
    params: ParamsSchema,
    response: { 200: PassageSchema, ...errorResponses(404) },
  }
  app.get('/v1/passages/:id', { schema: find }, async ({ params: { id } }) => {
    const passage = await index.get(storedId(id))
    if (passage === undefined) throw noPassage(id)
    return passage
  })

  const deletion = { tags, security: ADMIN_SECURITY, headers: IdempotencyHeaders }
  app.delete(
    '/v1/passages/:id',
    {
      onRequest: requireAdmin,
      schema: {
        ...deletion,
        operationId: 'deletePassage',
        summary: 'Delete a passage',
        params: ParamsSchema,
        response: { 200: DeletedSchema, ...errorResponses(401, 403, 404, 409, 422) },
      },
    },
    (request, reply) =>
      once(request, reply, {
        fingerprint: () => requestFingerprint(request),
        work: async () => {
          const { id } = request.params
          const deleted = await index.delete([storedId(id)])
          if (deleted === 0) throw noPassage(id)
          return { deleted }
        },
      }),
  )

  app.post(
    '/v1/passages/delete',
    {
      onRequest: requireAdmin,
      schema: {
        ...deletion,
        operationId: 'deletePassages',
        summary: 'Delete passages by ids or by filter',
        body: DeleteSchema,
        response: { 200: DeletedSchema, ...bodyErrorResponses(401, 403, 409, 422) },
      },
    },
    (request, reply) =>
      once(request, reply, {
        fingerprint: () => requestFingerprint(request),
        work: async () => {
          const { body } = request
          return { deleted: await index.delete('ids' in body ? body.ids.map(storedId) : body.filter) }
        },
      }),
  )
  return Promise.resolve()
}

function noPassage(id: string): CodedError {
  return new CodedError('not_found', `There is no passage "${id.slice(0, 100)}".`, { field: 'id' })
}
