import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { onRequestAsyncHookHandler } from 'fastify'
import { Type } from 'typebox'
import type { PassageIndex } from '../../../index/open.ts'
import { READ_LIMITS } from '../../../index/read/contract.ts'
import { checkRow } from '../../../index/read/validate.ts'
import { passageText, type Passage } from '../../../index/contract.ts'
import { CodedError } from '../../../base/errors.ts'
import type { Embedder } from '../../inference/contract.ts'
import { FilterSchema } from '../../../index/filter-schema.ts'
import { PassageMetadataSchema } from '../../../index/passage-metadata.ts'
import { ADMIN_SECURITY } from '../admin-guard.ts'
import { clientSignal } from '../client-signal.ts'
import { bodyErrorResponses, errorResponses } from '../error-body.ts'

export interface PassagesOptions {
  readonly index: PassageIndex
  readonly embedder: Embedder
  readonly requireAdmin: onRequestAsyncHookHandler
}

const MOST = 1000
const IdSchema = Type.String({ minLength: 1, maxLength: READ_LIMITS.idBytes })
export const PassageSchema = Type.Object(
  {
    id: IdSchema,
    title: Type.String({ maxLength: READ_LIMITS.titleBytes }),
    text: Type.String({ minLength: 1, maxLength: READ_LIMITS.textBytes }),
    source: Type.Optional(Type.String({ maxLength: 1000, description: 'Where it came from; usable as a filter.' })),
    metadata: Type.Optional(PassageMetadataSchema),
  },
  { additionalProperties: false },
)
const UpsertSchema = Type.Object({ passages: Type.Array(PassageSchema, { minItems: 1, maxItems: MOST }) }, { additionalProperties: false })
const UpsertedSchema = Type.Object({
  upserted: Type.Integer({ description: 'Passages written.' }),
  unchanged: Type.Integer({ description: 'Passages known already: neither embedded nor written.' }),
})
const DeleteSchema = Type.Union([
  Type.Object({ ids: Type.Array(IdSchema, { minItems: 1, maxItems: MOST }) }, { additionalProperties: false }),
  Type.Object({ filter: FilterSchema }, { additionalProperties: false }),
])
const DeletedSchema = Type.Object({ deleted: Type.Integer() })
const ParamsSchema = Type.Object({ id: IdSchema })

/** Single passages: read, upsert, delete. Changes are on the disk when they are answered, and seen by the next question. */
export const passages: FastifyPluginAsyncTypebox<PassagesOptions> = (app, { index, embedder, requireAdmin }) => {
  const tags = ['passages']

  app.get(
    '/v1/passages/:id',
    {
      schema: { tags, summary: 'Read a passage', params: ParamsSchema, response: { 200: PassageSchema, ...errorResponses(404) } },
    },
    async (request) => {
      const { id } = request.params
      const passage = await index.get(id)
      if (passage === undefined) throw noPassage(id)
      return passage
    },
  )

  app.route({
    method: ['PUT', 'POST'],
    url: '/v1/passages',
    onRequest: requireAdmin,
    schema: {
      tags,
      security: ADMIN_SECURITY,
      summary: 'Insert or replace passages by id',
      body: UpsertSchema,
      response: { 200: UpsertedSchema, ...bodyErrorResponses(401, 403, 409, 507) },
    },
    handler: async (request, reply) => {
      const given = request.body.passages.map(checked)
      const changed = await index.changed(distinct(given))
      const vectors = await embedder.embed(changed.map(passageText), { priority: 'bulk', signal: clientSignal(reply) })
      await index.upsert(changed, vectors)
      return { upserted: changed.length, unchanged: given.length - changed.length }
    },
  })

  app.delete(
    '/v1/passages/:id',
    {
      onRequest: requireAdmin,
      schema: {
        tags,
        security: ADMIN_SECURITY,
        summary: 'Delete a passage',
        params: ParamsSchema,
        response: { 200: DeletedSchema, ...errorResponses(401, 403, 404, 409) },
      },
    },
    async (request) => {
      const { id } = request.params
      const deleted = await index.delete([id])
      if (deleted === 0) throw noPassage(id)
      return { deleted }
    },
  )

  app.post(
    '/v1/passages/delete',
    {
      onRequest: requireAdmin,
      schema: {
        tags,
        security: ADMIN_SECURITY,
        summary: 'Delete passages by ids or by filter',
        body: DeleteSchema,
        response: { 200: DeletedSchema, ...bodyErrorResponses(401, 403, 409) },
      },
    },
    async (request) => {
      const { body } = request
      return { deleted: await index.delete('ids' in body ? body.ids : body.filter) }
    },
  )
  return Promise.resolve()
}

function noPassage(id: string): CodedError {
  return new CodedError('not_found', `There is no passage "${id.slice(0, 100)}".`, { field: 'id' })
}

function checked(given: Passage, at: number): Passage {
  const item = checkRow({ line: at, source: undefined, metadata: undefined, ...given }, READ_LIMITS, READ_LIMITS.textBytes)
  if ('reason' in item) throw new CodedError('invalid_request', `passages.${at}: ${item.detail}`, { field: `passages.${at}` })
  return item.passage
}

/** @throws invalid_request if an id occurs twice. */
function distinct(given: readonly Passage[]): readonly Passage[] {
  const seen = new Set<string>()
  for (const [at, { id }] of given.entries()) {
    if (seen.has(id))
      throw new CodedError('invalid_request', `passages.${at}: the id "${id.slice(0, 100)}" occurs twice; send each passage once.`, {
        field: `passages.${at}.id`,
      })
    seen.add(id)
  }
  return given
}
