import { Type } from '#typebox'
import { COLLECTION_STATES } from '../../../index/collections/contract.ts'
import { CollectionNameSchema } from '../../../index/table-name.ts'
import type { Tool } from '../contract.ts'

const MOST = 100

const InputSchema = Type.Object(
  {
    after: Type.Optional({ ...CollectionNameSchema, description: 'Value of `next` of the previous page.' }),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: MOST, default: MOST })),
  },
  { additionalProperties: false },
)
const OutputSchema = Type.Object({
  collections: Type.Array(
    Type.Object({
      name: Type.String(),
      passages: Type.Union([Type.Integer(), Type.Null()], { description: 'null if the table cannot be read.' }),
      state: Type.Enum([...COLLECTION_STATES], { description: 'Only collections in state ready can be searched.' }),
      default: Type.Boolean({ description: 'True for the collection used if a call names none.' }),
    }),
    { description: 'Ordered by name.' },
  ),
  next: Type.Union([Type.String(), Type.Null()], { description: 'Value of `after` for the next page; null on the last page.' }),
})

/** Lists the collections that a call may name. */
export const listCollectionsTool: Tool<typeof InputSchema, typeof OutputSchema> = {
  name: 'list_collections',
  title: 'List the collections',
  description:
    'List the collections that can be searched, with the number of passages of each. Every other tool accepts a collection name.',
  input: InputSchema,
  output: OutputSchema,
  call: async ({ after, limit = MOST }, services) => {
    const { collections, next } = await services.collections({ after, limit })
    return {
      collections: collections.map(({ name, passages, state, default: meant }) => ({
        name,
        passages: passages ?? null,
        state,
        default: meant,
      })),
      next: next ?? null,
    }
  },
  text: ({ collections, next }) =>
    [
      ...collections.map((one) => `${one.name}: ${one.passages ?? '?'} passages, ${one.state}${one.default ? ', the default' : ''}`),
      ...(next === null ? [] : [`more after ${next}`]),
    ].join('\n'),
}
