import { Type } from '#typebox'
import { LIMITS, SearchRequestSchema, SearchResponseSchema } from '../../rag/schema.ts'
import { search } from '../../rag/search.ts'
import type { Tool } from '../contract.ts'
import { collectionField, heading, sourceField } from './fields.ts'

/** Default number of passages: few, since they fill the context window of the caller. */
const DEFAULT_K = 5

const InputSchema = Type.Object(
  {
    query: SearchRequestSchema.properties.query,
    k: Type.Optional(Type.Integer({ minimum: 1, maximum: LIMITS.k, default: DEFAULT_K, description: 'Number of passages to return.' })),
    source: sourceField,
    collection: collectionField,
  },
  { additionalProperties: false },
)
const OutputSchema = Type.Object({ passages: SearchResponseSchema.properties.passages })

/** Searches passages without generating an answer. */
export const searchTool: Tool<typeof InputSchema, typeof OutputSchema> = {
  name: 'search',
  title: 'Search the corpus',
  description:
    'Find the passages most relevant to a question or keywords. Returns whole passages with id, title and source. For a short factual answer use answer.',
  input: InputSchema,
  output: OutputSchema,
  call: async ({ query, k = DEFAULT_K, source }, { answering }, run) => {
    const { passages } = await search({ query, k, ...(source !== undefined && { filter: { source } }) }, answering, run)
    return { passages }
  },
  text: ({ passages }) =>
    passages.length === 0
      ? 'No passage was found.'
      : passages.map((passage) => `[${passage.rank}] ${heading(passage)}\n${passage.text}`).join('\n\n'),
}
