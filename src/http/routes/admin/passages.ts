import { Type } from '#typebox'
import { READ_LIMITS } from '../../../../index/read/contract.ts'
import { ADMIN_SECURITY } from '../../auth/auth.ts'
import { errorResponses, mediaResponse } from '../../errors/error-body.ts'
import type { Routes } from '../context.ts'
import { streamResponse } from '../../request/stream-response.ts'
import { ListFields, PAGE } from '../passages/browse.ts'
import { CollectionQuerySchema, PassageSchema } from '../passages/passages.ts'

const { limit, collection, next, source, sourceCount } = ListFields
const PageSchema = Type.Object(
  {
    limit,
    after: Type.Optional(
      Type.String({ minLength: 1, maxLength: READ_LIMITS.idBytes, description: 'Value of `next` of the previous page.' }),
    ),
    source,
    collection,
  },
  { additionalProperties: false },
)
const ListedSchema = Type.Object({ passages: Type.Array(PassageSchema), next })
const SourcesSchema = Type.Object({ sources: Type.Array(sourceCount) })

/** Contents of the index: pages of passages, an export as JSON lines, counts by source. */
export const adminPassagesRoutes: Routes = (app, { access }) => {
  const keyed = { tags: ['passages'], security: ADMIN_SECURITY }
  const list = { ...keyed, operationId: 'listPassages', summary: 'List passages by id', querystring: PageSchema }
  const failures = errorResponses(401, 403, 404)
  app.get('/v1/admin/passages', { schema: { ...list, response: { 200: ListedSchema, ...failures } } }, async (request) => {
    const { limit = PAGE, after, source, collection } = request.query
    const index = await access.index(request, collection)
    const passages = await index.list({ limit, ...(after && { after }), ...(source !== undefined && { filter: { source } }) })
    return { passages, next: passages.length < limit ? null : (passages.at(-1)?.id ?? null) }
  })

  const schema = {
    ...keyed,
    operationId: 'exportPassages',
    summary: 'Export all passages as JSON lines',
    querystring: Type.Object({ source, collection }, { additionalProperties: false }),
    response: { 200: mediaResponse('One passage per line, as JSON.', 'application/x-ndjson'), ...failures },
  }
  app.get('/v1/admin/passages/export', { schema }, async (request, reply) => {
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
  })

  const count = { ...keyed, operationId: 'listSources', summary: 'Count the passages of each source', querystring: CollectionQuerySchema }
  app.get('/v1/admin/sources', { schema: { ...count, response: { 200: SourcesSchema, ...failures } } }, async (request) => ({
    sources: await (await access.index(request, request.query.collection)).sources(),
  }))
}
