import { Type } from '#typebox'
import type { Tool } from '../contract.ts'
import { collectionField } from './fields.ts'

const MOST = 1000
const DEFAULT_LIMIT = 100

const InputSchema = Type.Object(
  {
    prefix: Type.Optional(Type.String({ maxLength: 1000, description: 'Only sources with this prefix.' })),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: MOST, default: DEFAULT_LIMIT })),
    collection: collectionField,
  },
  { additionalProperties: false },
)
const OutputSchema = Type.Object({
  sources: Type.Array(
    Type.Object({ source: Type.String({ description: 'Source; empty for passages without one.' }), passages: Type.Integer() }),
    { description: 'Ordered by number of passages, largest first.' },
  ),
  total: Type.Integer({ description: 'Number of matching sources, listed or not.' }),
})

/** Lists the sources of the passages. */
export const listSourcesTool: Tool<typeof InputSchema, typeof OutputSchema> = {
  name: 'list_sources',
  title: 'List the sources',
  description: 'List the sources of the passages (files, URLs) with passage counts. search and answer accept a source.',
  input: InputSchema,
  output: OutputSchema,
  call: async ({ prefix = '', limit = DEFAULT_LIMIT }, { sources }) => {
    const found = (await sources()).filter(({ source }) => source.startsWith(prefix))
    return { sources: found.slice(0, limit).map(({ source, passages }) => ({ source, passages })), total: found.length }
  },
  text: ({ sources, total }) => {
    const lines = sources.map(({ source, passages }) => `${source === '' ? '(no source)' : source}: ${passages} passages`)
    const rest = total - sources.length
    return [...lines, ...(rest > 0 ? [`and ${rest} more`] : []), ...(total === 0 ? ['No source was found.'] : [])].join('\n')
  },
}
