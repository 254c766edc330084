import { Type, type Static } from 'typebox'
import type { FastifyRequest } from 'fastify'
import { COLLECTION_STATES, unknownCollection, type CollectionInfo } from '../../../index/collections/contract.ts'
import { CollectionNameSchema } from '../../../index/table-name.ts'
import { WORD_LANGUAGES } from '../../../index/word-languages.ts'
import { optionalEnum, orNull } from '../../text/fields.ts'
import { errorResponses } from '../errors/error-body.ts'
import { next, PAGE, pageQuery, type RouteContext, type Routes } from './context.ts'
import { at } from '../../../base/at.ts'
import { CodedError } from '../../../base/errors.ts'

const CollectionParamsSchema = Type.Object({ name: CollectionNameSchema })
export const ProblemSchema = Type.Object({ code: Type.String(), message: Type.String() })
const CollectionSchema = Type.Object(
  {
    name: Type.String(),
    passages: orNull(Type.Integer(), 'null if the table cannot be read.'),
    state: Type.Enum([...COLLECTION_STATES], {
      description:
        'ready: searchable. incompatible: vectors of a retriever that is not loaded. missing: no table yet. unavailable: the table cannot be read.',
    }),
    default: Type.Boolean({ description: 'True for the collection used if a request of this key names none.' }),
    problem: orNull(ProblemSchema, 'Why the collection cannot be searched.'),
  },
  { title: 'Collection' },
)
export const CollectionsSchema = Type.Object({ collections: Type.Array(CollectionSchema), next })

const QuerySchema = Type.Object({
  language: optionalEnum(
    WORD_LANGUAGES,
    'Stemming language of text search for a new collection; `none` for no stemming. Default: the language of most texts, else none.',
  ),
  copy_of: Type.Optional({
    ...CollectionNameSchema,
    description:
      'Collection whose current content the name will point to; later changes are separate. Default: create an empty collection.',
  }),
})
const RemovedSchema = Type.Object({ deleted: Type.String({ description: 'Name of the collection.' }) })

/** A problem without paths of the machine. */
export function shownProblem({ server }: FastifyRequest, problem: CodedError | undefined): Static<typeof ProblemSchema> | null {
  return problem === undefined ? null : { code: problem.code, message: server.publicText(problem.message) }
}

function shownTo(request: FastifyRequest, { services, access }: Pick<RouteContext, 'services' | 'access'>) {
  const implied = access.implied(request) ?? services.collections.main.table
  return ({ name, passages, state, problem }: CollectionInfo): Static<typeof CollectionSchema> => ({
    name,
    passages: passages ?? null,
    state,
    default: name === implied,
    problem: shownProblem(request, problem),
  })
}

/** The collections that a key may use: list and describe them; with an admin key create an empty one or a copy of another, and delete them. */
export const collectionsRoutes: Routes = (app, context) => {
  const { access } = context
  const { collections } = context.services
  const tags = ['collections']
  const list = { tags, operationId: 'listCollections', summary: 'List collections by name' }
  const listed = { querystring: Type.Object(pageQuery(64)), response: { 200: CollectionsSchema } }
  app.get('/v1/collections', { schema: { ...list, ...listed } }, async (request) => {
    const { limit = PAGE, after } = request.query
    const { collections, next } = await access.page(request, { limit, after })
    return { collections: collections.map(shownTo(request, context)), next: next ?? null }
  })
  const one = { tags, operationId: 'getCollection', summary: 'Get a collection', params: CollectionParamsSchema }
  app.get('/v1/collections/:name', { schema: { ...one, response: { 200: CollectionSchema, ...errorResponses(404) } } }, async (request) => {
    const { name } = request.params
    const [found] = access.mayUse(request, name) ? await collections.describe([name]) : []
    if (found === undefined) throw unknownCollection(name, 'name')
    return shownTo(request, context)(found)
  })
  const changing = { tags, params: CollectionParamsSchema }
  const mayUse = (request: FastifyRequest, name: string, field: string): void => {
    if (!access.mayUse(request, name)) throw unknownCollection(name, field)
  }
  const put = {
    operationId: 'putCollection',
    summary: 'Create an empty collection, or point a name to the content of another collection',
    querystring: QuerySchema,
    response: { 200: CollectionSchema, 201: CollectionSchema, ...errorResponses(404, 409, 422, 507) },
  }
  app.put('/v1/collections/:name', { onRequest: app.requireAdmin, schema: { ...changing, ...put } }, async (request, reply) => {
    const { name } = request.params
    const { copy_of: source, language } = request.query
    if (source !== undefined && language !== undefined)
      throw new CodedError('invalid_request', 'A copy has the language of its original: leave `language` out.', { field: 'language' })
    mayUse(request, name, 'name')
    if (source !== undefined) mayUse(request, source, 'copy_of')
    const made = source === undefined ? await collections.create(name, language) : await collections.copy(name, source)
    return reply.code(made ? 201 : 200).send(shownTo(request, context)(at(await collections.describe([name]), 0)))
  })
  const remove = {
    operationId: 'deleteCollection',
    summary: 'Delete a collection with its snapshots',
    response: { 200: RemovedSchema, ...errorResponses(404, 409) },
  }
  app.delete('/v1/collections/:name', { onRequest: app.requireAdmin, schema: { ...changing, ...remove } }, async (request) => {
    const { name } = request.params
    mayUse(request, name, 'name')
    await collections.remove(name)
    return { deleted: name }
  })
}
