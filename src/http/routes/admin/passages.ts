import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '#typebox'
import { READ_LIMITS } from '../../../../index/read/contract.ts'
import { CollectionNameSchema } from '../../../../index/table-name.ts'
import { ADMIN_SECURITY } from '../../auth/admin-guard.ts'
import { errorResponses, mediaResponse } from '../../errors/error-body.ts'
import type { CollectionAccess } from '../../request/collections.ts'
import { streamResponse } from '../../request/stream-response.ts'
import { CollectionQuerySchema, PassageSchema } from '../passages/passages.ts'

const MOST = 1000
const PAGE = 100
const collection = Type.Optional(CollectionNameSchema)
const source = Type.Optional(
  Type.String({ maxLength: 1000, description: 'Only passages from this source; empty: only those without one.' }),
)
const PageSchema = Type.Object(
  {
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: MOST, default: PAGE })),
    after: Type.Optional(Type.String({ minLength: 1, maxLength: READ_LIMITS.idBytes, description: "The last page's `next`." })),
    source,
    collection,
  },
  { additionalProperties: false },
)
const ListedSchema = Type.Object({
  passages: Type.Array(PassageSchema),
  next: Type.Union([Type.String(), Type.Null()], { description: 'Give it as `after` for the next page; null after the last.' }),
})
const SourcesSchema = Type.Object({
  sources: Type.Array(Type.Object({ source: Type.String({ description: 'Empty for passages without one.' }), passages: Type.Integer() })),
})

/** Contents of the index: pages of passages, an export as JSON lines, counts by source. */
export const adminPassagesRoutes: FastifyPluginAsyncTypebox<{ readonly access: CollectionAccess }> = (app, { access }) => {
  const keyed = { tags: ['passages'], security: ADMIN_SECURITY }

  app.get(
    '/v1/admin/passages',
    {
      schema: {
        ...keyed,
        operationId: 'listPassages',
        summary: 'List passages in the order of their ids',
        querystring: PageSchema,
        response: { 200: ListedSchema, ...errorResponses(401, 403, 404) },
      },
    },
    async (request) => {
      const { limit = PAGE, after, source, collection } = request.query
      const index = await access.index(request, collection)
      const passages = await index.list({ limit, ...(after && { after }), ...(source !== undefined && { filter: { source } }) })
      return { passages, next: passages.length < limit ? null : (passages.at(-1)?.id ?? null) }
    },
  )

  app.get(
    '/v1/admin/passages/export',
    {
      schema: {
        ...keyed,
        operationId: 'exportPassages',
        summary: 'All passages as JSON lines, as they can be indexed again',
        querystring: Type.Object({ source, collection }, { additionalProperties: false }),
        response: { 200: mediaResponse('A passage a line, as JSON.', 'application/x-ndjson'), ...errorResponses(401, 403, 404) },
      },
    },
    async (request, reply) => {
      const { method, query } = request
      const index = await access.index(request, query.collection)
      // Report a missing index before the first byte, not within the stream.
      await index.version()
      const lines = async function* (): AsyncGenerator<string> {
        for await (const passage of index.export(query.source === undefined ? undefined : { source: query.source }))
          yield `${JSON.stringify(passage)}\n`
      }
      // The body of a HEAD response is discarded: do not read the whole table for it.
      return method === 'HEAD'
        ? reply.type('application/x-ndjson; charset=utf-8').send('')
        : streamResponse(reply, 'application/x-ndjson', lines())
    },
  )

  app.get(
    '/v1/admin/sources',
    {
      schema: {
        ...keyed,
        operationId: 'listSources',
        summary: 'Passages of each source',
        querystring: CollectionQuerySchema,
        response: { 200: SourcesSchema, ...errorResponses(401, 403, 404) },
      },
    },
    async (request) => ({ sources: await (await access.index(request, request.query.collection)).sources() }),
  )
  return Promise.resolve()
}
