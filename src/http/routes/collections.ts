import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type, type Static } from '#typebox'
import { COLLECTION_STATES, unknownCollection, type CollectionInfo, type Collections } from '../../../index/collections/contract.ts'
import { CollectionNameSchema } from '../../../index/table-name.ts'
import { errorResponses } from '../errors/error-body.ts'
import type { PublicText } from '../errors/public-text.ts'
import type { CollectionAccess } from '../request/collections.ts'

export interface CollectionsOptions {
  readonly collections: Collections
  readonly access: CollectionAccess
  readonly publicText: PublicText
}

const MOST = 1000
const PAGE = 100

const PageSchema = Type.Object(
  {
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: MOST, default: PAGE })),
    after: Type.Optional(Type.String({ minLength: 1, maxLength: 64, description: "The last page's `next`." })),
  },
  { additionalProperties: false },
)
export const CollectionParamsSchema = Type.Object({ name: CollectionNameSchema })
export const CollectionSchema = Type.Object(
  {
    name: Type.String(),
    passages: Type.Union([Type.Integer(), Type.Null()], { description: 'null where it cannot be read.' }),
    state: Type.Enum([...COLLECTION_STATES], {
      description:
        "ready: it is searched. incompatible: its vectors are of a retriever that is not loaded, or of other software. missing: it has no table yet (the service's own alone). unavailable: it cannot be read now.",
    }),
    default: Type.Boolean({ description: 'It is meant where a request of this key names none.' }),
    problem: Type.Union([Type.Object({ code: Type.String(), message: Type.String() }), Type.Null()], {
      description: 'Why it is not searched.',
    }),
  },
  { title: 'Collection' },
)
const ListSchema = Type.Object({
  collections: Type.Array(CollectionSchema),
  next: Type.Union([Type.String(), Type.Null()], { description: 'Give it as `after` for the next page; null after the last.' }),
})

/** Returns a function that describes collections to the sender of a request. */
export function shownTo(request: Parameters<CollectionAccess['implied']>[0], { collections, access, publicText }: CollectionsOptions) {
  const implied = access.implied(request) ?? collections.main.table
  return ({ name, passages, state, problem }: CollectionInfo): Static<typeof CollectionSchema> => ({
    name,
    passages: passages ?? null,
    state,
    default: name === implied,
    problem: problem === undefined ? null : { code: problem.code, message: publicText(problem.message) },
  })
}

/** GET /v1/collections and GET /v1/collections/:name: collections that the key may use. */
export const collectionsRoutes: FastifyPluginAsyncTypebox<CollectionsOptions> = (app, options) => {
  const { collections, access } = options
  app.get(
    '/v1/collections',
    {
      schema: {
        tags: ['collections'],
        operationId: 'listCollections',
        summary: 'List the collections, in the order of their names',
        querystring: PageSchema,
        response: { 200: ListSchema, ...errorResponses() },
      },
    },
    async (request) => {
      const { limit = PAGE, after } = request.query
      const { collections, next } = await access.page(request, { limit, after })
      return { collections: collections.map(shownTo(request, options)), next: next ?? null }
    },
  )
  app.get(
    '/v1/collections/:name',
    {
      schema: {
        tags: ['collections'],
        operationId: 'getCollection',
        summary: 'One collection',
        params: CollectionParamsSchema,
        response: { 200: CollectionSchema, ...errorResponses(404) },
      },
    },
    async (request) => {
      const { name } = request.params
      const [found] = access.mayUse(request, name) ? await collections.describe([name]) : []
      if (found === undefined) throw unknownCollection(name, 'name')
      return shownTo(request, options)(found)
    },
  )
  return Promise.resolve()
}
