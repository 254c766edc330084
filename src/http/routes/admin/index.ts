import { Type } from '#typebox'
import { ADMIN_SECURITY } from '../../auth/auth.ts'
import { errorResponses } from '../../errors/error-body.ts'
import type { Routes } from '../context.ts'
import { CollectionQuerySchema } from '../passages/passages.ts'
import { CodedError } from '../../../../base/errors.ts'
import { KeyRecordSchema } from '../../../keys/record.ts'

const IndexInfoSchema = Type.Object({
  table: Type.String(),
  stored_as: Type.String({ description: 'Table on disk that the name points to.' }),
  version: Type.Integer({ description: 'Increases with every commit.' }),
  rows: Type.Integer(),
  dimension: Type.Integer(),
  model: Type.String({ description: 'Model id of the vectors.' }),
  schema_version: Type.Integer(),
  kind: Type.Enum(['exact', 'ivf_rq'], { description: 'exact: every vector is compared. ivf_rq: inverted lists with RaBitQ codes.' }),
  nprobes: Type.Integer({ description: 'Partitions read per query; 0 for exact.' }),
  refine: Type.Integer({ description: 'Candidates compared exactly per requested passage; 0 for exact.' }),
  recall: Type.Union([Type.Number(), Type.Null()], {
    description:
      'recall@10 against exact search on a sample: of sentences of passages as queries, or of stored vectors if the retriever did not make them. Null for exact.',
  }),
  question_recall: Type.Union([Type.Number(), Type.Null()], { description: 'The same; null if stored vectors were the queries.' }),
  unindexed_rows: Type.Integer({ description: 'Rows not yet in the vector index; they are compared exactly.' }),
  full_text: Type.Boolean(),
})

/** GET /v1/admin/index: the live table and its indexes. */
export const adminIndexRoutes: Routes = (app, { access }) => {
  const schema = {
    tags: ['index'],
    security: ADMIN_SECURITY,
    operationId: 'getIndex',
    summary: 'Get the index in service',
    querystring: CollectionQuerySchema,
    response: { 200: IndexInfoSchema, ...errorResponses(401, 403, 404) },
  }
  app.get('/v1/admin/index', { schema }, async (request) => {
    const index = await access.index(request, request.query.collection)
    const { storedAs: stored_as, schemaVersion: schema_version, questionRecall: question_recall, ...info } = await index.info()
    const { unindexedRows: unindexed_rows, fullText: full_text, ...same } = info
    return { ...same, stored_as, schema_version, question_recall, unindexed_rows, full_text }
  })
}

const { sha256: _, ...shown } = KeyRecordSchema.properties
const KeysSchema = Type.Object({
  keys: Type.Array(Type.Object({ ...shown, questions_today: Type.Integer({ description: 'Questions admitted today (UTC).' }) })),
})

/** GET /v1/admin/keys: the keys with their limits and use; neither keys nor hashes. */
export const adminKeysRoutes: Routes = (app, { services: { keys, quotas } }) => {
  const list = {
    tags: ['operations'],
    security: ADMIN_SECURITY,
    operationId: 'listKeys',
    summary: 'List keys with limits and usage, by name',
  }
  app.get('/v1/admin/keys', { schema: { ...list, response: { 200: KeysSchema, ...errorResponses(401, 403) } } }, ({ holder }) => {
    if (holder?.collections !== undefined)
      throw new CodedError('forbidden', `The key ${holder.name} is bound to collections: list the keys with one that is not.`)
    return { keys: keys.records.map(({ sha256: _, ...record }) => ({ ...record, questions_today: quotas?.used(record.name) ?? 0 })) }
  })
}
