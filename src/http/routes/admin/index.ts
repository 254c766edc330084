import { Type } from 'typebox'
import { errorResponses, mediaResponse } from '../../errors/error-body.ts'
import { next, pageQuery, type Routes } from '../context.ts'
import { ListFields, pageById } from '../passages/browse.ts'
import { ProblemSchema, shownProblem } from '../collections.ts'
import { CollectionQuerySchema, PassageSchema } from '../passages/passages.ts'
import { exportLines, READ_LIMITS } from '../../../../index/read/contract.ts'
import { SnapshotSchema } from '../../../../index/snapshot-schema.ts'
import { streamResponse } from '../../request/stream-response.ts'
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
    operationId: 'getIndex',
    summary: 'Get the index in service',
    querystring: CollectionQuerySchema,
    response: { 200: IndexInfoSchema, ...errorResponses(404) },
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
  const list = { tags: ['operations'], operationId: 'listKeys', summary: 'List keys with limits and usage, by name' }
  app.get('/v1/admin/keys', { schema: { ...list, response: { 200: KeysSchema } } }, ({ holder }) => {
    if (holder?.collections !== undefined)
      throw new CodedError('forbidden', `The key ${holder.name} is bound to collections: list the keys with one that is not.`)
    return { keys: keys.records.map(({ sha256: _, ...record }) => ({ ...record, questions_today: quotas?.used(record.name) ?? 0 })) }
  })
}

const { collection, source, sourceCount } = ListFields
const PageSchema = Type.Object({ ...pageQuery(READ_LIMITS.idBytes), source, collection })
const listed = { 200: Type.Object({ passages: Type.Array(PassageSchema), next }), ...errorResponses(404) }
const counted = { 200: Type.Object({ sources: Type.Array(sourceCount) }), ...errorResponses(404) }

/** Contents of the index: pages of passages, an export as JSON lines, counts by source. */
export const adminPassagesRoutes: Routes = (app, { access }) => {
  const keyed = { tags: ['passages'] }
  const list = { ...keyed, operationId: 'listPassages', summary: 'List passages by id', querystring: PageSchema, response: listed }
  app.get('/v1/admin/passages', { schema: list }, async (request) =>
    pageById(await access.index(request, request.query.collection), request.query),
  )

  const schema = {
    ...keyed,
    operationId: 'exportPassages',
    summary: 'Export all passages as JSON lines',
    querystring: Type.Object({ source, collection }),
    response: { 200: mediaResponse('One passage per line, as JSON.', 'application/x-ndjson'), ...errorResponses(404) },
  }
  app.get('/v1/admin/passages/export', { schema }, async (request, reply) => {
    const { method, query } = request
    const index = await access.index(request, query.collection)
    // Report a missing index before the first byte, not within the stream.
    await index.version()
    // The body of a HEAD response is discarded: do not read the whole table for it.
    if (method === 'HEAD') return reply.type('application/x-ndjson; charset=utf-8').send('')
    const passages = index.export(query.source === undefined ? undefined : { source: query.source })
    return streamResponse(reply, 'application/x-ndjson', exportLines(passages))
  })

  const named = { operationId: 'listSources', summary: 'Count the passages of each source' }
  const count = { ...keyed, ...named, querystring: CollectionQuerySchema, response: counted }
  app.get('/v1/admin/sources', { schema: count }, async (request) => ({
    sources: await (await access.index(request, request.query.collection)).sources(),
  }))
}

const name = Type.String({ minLength: 1, maxLength: 64, description: '1 to 64 letters, digits, "-" and "_".' })
const { table: _table, ...snapshot } = SnapshotSchema.properties
const ListedSnapshotSchema = Type.Object({
  name: Type.String(),
  created_at: Type.Union([Type.String(), Type.Null()]),
  rows: Type.Union([Type.Integer(), Type.Null()]),
  model: Type.Union([Type.String(), Type.Null()]),
  bytes: Type.Integer({ description: 'Bytes that deletion would free.' }),
  problem: Type.Union([ProblemSchema, Type.Null()], { description: 'Why the snapshot cannot be described: then the others are null.' }),
})
const SnapshotsSchema = Type.Object({
  snapshots: Type.Array(ListedSnapshotSchema, { description: 'Those that cannot be described, then the others, oldest first.' }),
})
const RestoredSchema = Type.Object({ restored: Type.String(), passages: Type.Integer({ description: 'Passages in the collection.' }) })

/** Creates, lists, restores and deletes snapshots of a collection. */
export const adminSnapshotsRoutes: Routes = (app, { snapshots, access }) => {
  const keyed = { tags: ['index'], querystring: CollectionQuerySchema }
  const response = { 200: SnapshotsSchema, ...errorResponses(404) }
  const list = { ...keyed, operationId: 'listSnapshots', summary: 'List the snapshots of a collection', response }
  app.get('/v1/admin/snapshots', { schema: list }, async (request) => {
    const listed = await snapshots.listSnapshots(await access.index(request, request.query.collection))
    return { snapshots: listed.map((one) => ({ ...one, problem: shownProblem(request, one.problem) })) }
  })
  const created = { 201: Type.Object(snapshot), ...errorResponses(404, 409, 507) }
  const named = { ...keyed, body: Type.Object({ name }, { additionalProperties: false }) }
  const create = { ...named, operationId: 'createSnapshot', summary: 'Create a snapshot of a collection', response: created }
  app.post('/v1/admin/snapshots', { schema: create }, async (request, reply) =>
    reply.code(201).send(await snapshots.createSnapshot(request.body.name, await access.index(request, request.query.collection))),
  )
  const one = { ...keyed, params: Type.Object({ snapshot: name }) }
  const restored = { 200: RestoredSchema, ...errorResponses(404, 409, 422, 507) }
  const restore = { ...one, operationId: 'restoreSnapshot', summary: 'Restore a collection from a snapshot', response: restored }
  app.post('/v1/admin/snapshots/:snapshot/restore', { schema: restore }, async (request) => {
    const index = await access.index(request, request.query.collection)
    const passages = await snapshots.restoreSnapshot(request.params.snapshot, index)
    await index.refresh()
    return { restored: request.params.snapshot, passages }
  })
  const deleted = { 200: Type.Object({ deleted: Type.String({ description: 'Name of the snapshot.' }) }), ...errorResponses(404, 409) }
  const remove = { ...one, operationId: 'deleteSnapshot', summary: 'Delete a snapshot', response: deleted }
  app.delete('/v1/admin/snapshots/:snapshot', { schema: remove }, async (request) => {
    await snapshots.deleteSnapshot(request.params.snapshot, await access.index(request, request.query.collection))
    return { deleted: request.params.snapshot }
  })
}
