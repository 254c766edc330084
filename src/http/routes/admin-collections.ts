import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest, onRequestAsyncHookHandler } from 'fastify'
import { Type } from '#typebox'
import { at } from '../../../base/at.ts'
import { unknownCollection } from '../../../index/collections/contract.ts'
import { CollectionNameSchema } from '../../../index/table-name.ts'
import { ADMIN_SECURITY } from '../auth/admin-guard.ts'
import { errorResponses } from '../errors/error-body.ts'
import { CollectionParamsSchema, CollectionSchema, shownTo, type CollectionsOptions } from './collections.ts'

export interface AdminCollectionsOptions extends CollectionsOptions {
  readonly requireAdmin: onRequestAsyncHookHandler
}

const QuerySchema = Type.Object(
  {
    copy_of: Type.Optional({
      ...CollectionNameSchema,
      description:
        'Another collection: what it holds now is put behind the name, at once; both go their own ways from then on. Default: an empty collection is made where there is none.',
    }),
  },
  { additionalProperties: false },
)
const RemovedSchema = Type.Object({ deleted: Type.String({ description: 'Its name.' }) })

/** PUT and DELETE /v1/collections/:name: creates an empty collection or a copy of another one, and deletes it. */
export const adminCollectionsRoutes: FastifyPluginAsyncTypebox<AdminCollectionsOptions> = (app, options) => {
  const { collections, access, requireAdmin } = options
  app.addHook('onRequest', requireAdmin)
  const schema = { tags: ['collections'], security: ADMIN_SECURITY, params: CollectionParamsSchema }
  const mayUse = (request: FastifyRequest, name: string, field: string): void => {
    if (!access.mayUse(request, name)) throw unknownCollection(name, field)
  }

  app.put(
    '/v1/collections/:name',
    {
      schema: {
        ...schema,
        operationId: 'putCollection',
        summary: 'Make an empty collection, or point its name at what another one holds',
        querystring: QuerySchema,
        response: { 200: CollectionSchema, 201: CollectionSchema, ...errorResponses(401, 403, 404, 409, 422, 507) },
      },
    },
    async (request, reply) => {
      const { name } = request.params
      const { copy_of: source } = request.query
      mayUse(request, name, 'name')
      if (source !== undefined) mayUse(request, source, 'copy_of')
      const made = source === undefined ? await collections.create(name) : await collections.copy(name, source)
      return reply.code(made ? 201 : 200).send(shownTo(request, options)(at(await collections.describe([name]), 0)))
    },
  )
  app.delete(
    '/v1/collections/:name',
    {
      schema: {
        ...schema,
        operationId: 'deleteCollection',
        summary: 'Remove a collection with its snapshots',
        response: { 200: RemovedSchema, ...errorResponses(401, 403, 404, 409) },
      },
    },
    async (request) => {
      const { name } = request.params
      mayUse(request, name, 'name')
      await collections.remove(name)
      return { deleted: name }
    },
  )
  return Promise.resolve()
}
