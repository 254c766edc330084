import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '#typebox'
import { ADMIN_SECURITY } from '../../auth/auth.ts'
import { errorResponses } from '../../errors/error-body.ts'
import type { CollectionAccess } from '../../request/collections.ts'
import { CollectionQuerySchema } from '../passages/passages.ts'

const IndexInfoSchema = Type.Object({
  table: Type.String(),
  stored_as: Type.String({ description: 'Table on disk behind the name.' }),
  version: Type.Integer({ description: 'Grows with every commit.' }),
  rows: Type.Integer(),
  dimension: Type.Integer(),
  model: Type.String({ description: 'Embedding model of the vectors.' }),
  schema_version: Type.Integer(),
  kind: Type.Enum(['exact', 'ivf_rq'], { description: 'exact: every vector is compared. ivf_rq: inverted lists with RaBitQ codes.' }),
  nprobes: Type.Integer({ description: 'Partitions read per question; 0 for exact.' }),
  refine: Type.Integer({ description: 'Candidates compared exactly per passage wanted; 0 for exact.' }),
  recall: Type.Union([Type.Number(), Type.Null()], {
    description:
      'recall@10 of the vector index against exact search, measured on a sample when its settings were chosen: by stored vectors and by sentences of passages as questions, the lower of both. Null for exact.',
  }),
  question_recall: Type.Union([Type.Number(), Type.Null()], {
    description: 'That by sentences as questions alone; null where it was not measured.',
  }),
  unindexed_rows: Type.Integer({ description: 'Rows that the vector index does not cover yet; they are compared exactly.' }),
  full_text: Type.Boolean(),
})

/** GET /v1/admin/index: the live table and its indexes. */
export const adminIndexRoutes: FastifyPluginAsyncTypebox<{ readonly access: CollectionAccess }> = (app, { access }) => {
  const schema = {
    tags: ['index'],
    security: ADMIN_SECURITY,
    operationId: 'getIndex',
    summary: 'The index in service',
    querystring: CollectionQuerySchema,
    response: { 200: IndexInfoSchema, ...errorResponses(401, 403, 404) },
  }
  app.get('/v1/admin/index', { schema }, async (request) => {
    const index = await access.index(request, request.query.collection)
    const { storedAs: stored_as, schemaVersion: schema_version, questionRecall: question_recall, ...info } = await index.info()
    const { unindexedRows: unindexed_rows, fullText: full_text, ...same } = info
    return { ...same, stored_as, schema_version, question_recall, unindexed_rows, full_text }
  })
  return Promise.resolve()
}
