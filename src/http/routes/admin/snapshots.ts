import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { onRequestAsyncHookHandler } from 'fastify'
import { Type } from '#typebox'
import { createSnapshot, deleteSnapshot, listSnapshots, restoreSnapshot, SnapshotSchema } from '../../../../index/snapshots/snapshots.ts'
import { ADMIN_SECURITY } from '../../auth/admin-guard.ts'
import { bodyErrorResponses, errorResponses } from '../../errors/error-body.ts'
import type { CollectionAccess } from '../../request/collections.ts'
import { CollectionQuerySchema } from '../passages/passages.ts'

export interface AdminSnapshotsOptions {
  readonly access: CollectionAccess
  readonly requireAdmin: onRequestAsyncHookHandler
}

const name = Type.String({ minLength: 1, maxLength: 64, description: '1 to 64 letters, digits, "-" and "_".' })
const ParamsSchema = Type.Object({ snapshot: name })
const { table: _, ...shown } = SnapshotSchema.properties
const ListSchema = Type.Object({
  snapshots: Type.Array(Type.Object({ ...shown, bytes: Type.Integer({ description: 'Bytes that deleting it would free.' }) }), {
    description: 'Oldest first.',
  }),
})
const RestoredSchema = Type.Object({ restored: Type.String(), passages: Type.Integer({ description: 'Passages in the collection.' }) })

/** Creates, lists, restores and deletes snapshots of a collection. */
export const adminSnapshotsRoutes: FastifyPluginAsyncTypebox<AdminSnapshotsOptions> = (app, { access, requireAdmin }) => {
  app.addHook('onRequest', requireAdmin)
  const keyed = { tags: ['index'], security: ADMIN_SECURITY, querystring: CollectionQuerySchema }
  const one = { ...keyed, params: ParamsSchema }
  app.get(
    '/v1/admin/snapshots',
    {
      schema: {
        ...keyed,
        operationId: 'listSnapshots',
        summary: 'List the snapshots of a collection',
        response: { 200: ListSchema, ...errorResponses(401, 403, 404) },
      },
    },
    async (request) => ({ snapshots: await listSnapshots(await access.index(request, request.query.collection)) }),
  )
  app.post(
    '/v1/admin/snapshots',
    {
      schema: {
        ...keyed,
        operationId: 'createSnapshot',
        summary: 'Create a snapshot of a collection',
        body: Type.Object({ name }, { additionalProperties: false }),
        response: { 201: Type.Object(shown), ...bodyErrorResponses(401, 403, 404, 409, 507) },
      },
    },
    async (request, reply) => {
      const index = await access.index(request, request.query.collection)
      return reply.code(201).send(await createSnapshot(request.body.name, index))
    },
  )
  app.post(
    '/v1/admin/snapshots/:snapshot/restore',
    {
      schema: {
        ...one,
        operationId: 'restoreSnapshot',
        summary: 'Replace the passages of a collection with a snapshot',
        response: { 200: RestoredSchema, ...errorResponses(401, 403, 404, 409, 422, 507) },
      },
    },
    async (request) => {
      const { snapshot } = request.params
      const index = await access.index(request, request.query.collection)
      const passages = await restoreSnapshot(snapshot, index)
      await index.refresh()
      return { restored: snapshot, passages }
    },
  )
  app.delete(
    '/v1/admin/snapshots/:snapshot',
    {
      schema: {
        ...one,
        operationId: 'deleteSnapshot',
        summary: 'Delete a snapshot',
        response: { 200: Type.Object({ deleted: Type.String({ description: 'Its name.' }) }), ...errorResponses(401, 403, 404, 409) },
      },
    },
    async (request) => {
      const { snapshot } = request.params
      await deleteSnapshot(snapshot, await access.index(request, request.query.collection))
      return { deleted: snapshot }
    },
  )
  return Promise.resolve()
}
