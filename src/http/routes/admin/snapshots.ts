import { Type } from '#typebox'
import { SnapshotSchema } from '../../../../index/snapshot-schema.ts'
import { ADMIN_SECURITY } from '../../auth/auth.ts'
import { bodyErrorResponses, errorResponses } from '../../errors/error-body.ts'
import type { Routes } from '../context.ts'
import { CollectionQuerySchema } from '../passages/passages.ts'

const name = Type.String({ minLength: 1, maxLength: 64, description: '1 to 64 letters, digits, "-" and "_".' })
const BodySchema = Type.Object({ name }, { additionalProperties: false })
const DeletedSchema = Type.Object({ deleted: Type.String({ description: 'Name of the collection.' }) })
const ParamsSchema = Type.Object({ snapshot: name })
const { table: _, ...shown } = SnapshotSchema.properties
const ListSchema = Type.Object({
  snapshots: Type.Array(Type.Object({ ...shown, bytes: Type.Integer({ description: 'Bytes that deletion would free.' }) }), {
    description: 'Oldest first.',
  }),
})
const RestoredSchema = Type.Object({ restored: Type.String(), passages: Type.Integer({ description: 'Passages in the collection.' }) })

/** Creates, lists, restores and deletes snapshots of a collection. */
export const adminSnapshotsRoutes: Routes = (app, { snapshots, access }) => {
  const keyed = { tags: ['index'], security: ADMIN_SECURITY, querystring: CollectionQuerySchema }
  const one = { ...keyed, params: ParamsSchema }
  const list = { operationId: 'listSnapshots', summary: 'List the snapshots of a collection' }
  app.get(
    '/v1/admin/snapshots',
    { schema: { ...keyed, ...list, response: { 200: ListSchema, ...errorResponses(401, 403, 404) } } },
    async (request) => ({ snapshots: await snapshots.listSnapshots(await access.index(request, request.query.collection)) }),
  )
  const create = { operationId: 'createSnapshot', summary: 'Create a snapshot of a collection', body: BodySchema }
  app.post(
    '/v1/admin/snapshots',
    { schema: { ...keyed, ...create, response: { 201: Type.Object(shown), ...bodyErrorResponses(401, 403, 404, 409, 507) } } },
    async (request, reply) =>
      reply.code(201).send(await snapshots.createSnapshot(request.body.name, await access.index(request, request.query.collection))),
  )
  const restore = { operationId: 'restoreSnapshot', summary: 'Restore a collection from a snapshot' }
  app.post(
    '/v1/admin/snapshots/:snapshot/restore',
    { schema: { ...one, ...restore, response: { 200: RestoredSchema, ...errorResponses(401, 403, 404, 409, 422, 507) } } },
    async (request) => {
      const index = await access.index(request, request.query.collection)
      const passages = await snapshots.restoreSnapshot(request.params.snapshot, index)
      await index.refresh()
      return { restored: request.params.snapshot, passages }
    },
  )
  const remove = { operationId: 'deleteSnapshot', summary: 'Delete a snapshot' }
  app.delete(
    '/v1/admin/snapshots/:snapshot',
    { schema: { ...one, ...remove, response: { 200: DeletedSchema, ...errorResponses(401, 403, 404, 409) } } },
    async (request) => {
      await snapshots.deleteSnapshot(request.params.snapshot, await access.index(request, request.query.collection))
      return { deleted: request.params.snapshot }
    },
  )
}
