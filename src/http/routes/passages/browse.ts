import { Type, type Static } from 'typebox'
import { at } from '../../../../base/at.ts'
import type { Passage } from '../../../../index/contract.ts'
import { READ_LIMITS } from '../../../../index/read/contract.ts'
import type { PassageIndex } from '../../../../index/passage-index.ts'
import { CollectionNameSchema } from '../../../../index/table-name.ts'
import { sourcesOf } from '../../../mcp/source-counts.ts'
import { withFile } from '../../../rag/search.ts'
import { errorResponses } from '../../errors/error-body.ts'
import type { Routes } from '../context.ts'
import { StoredPassageSchema } from './passages.ts'

const MOST = 1000
/** Default of `limit`. */
export const PAGE = 100
/** Maximum passages of a source that are sorted by position. */
const MOST_SORTED = 10_000

const SOURCE_CHARACTERS = 1000
const limit = Type.Optional(Type.Integer({ minimum: 1, maximum: MOST, default: PAGE }))
const collection = Type.Optional(CollectionNameSchema)
const after = (maxLength: number) => Type.Optional(Type.String({ maxLength, description: 'Value of `next` of the previous page.' }))
const next = Type.Union([Type.String(), Type.Null()], { description: 'Value of `after` for the next page; null on the last page.' })

const source = Type.Optional(
  Type.String({ maxLength: SOURCE_CHARACTERS, description: 'Only passages from this source; empty: only those without one.' }),
)
const SourceSchema = Type.Object({
  source: Type.String({ description: 'Source; empty for passages without one.' }),
  passages: Type.Integer(),
})
/** Fields of routes that list passages or their sources. */
export const ListFields = { limit, collection, next, source, sourceCount: SourceSchema }

const SourcesQuerySchema = Type.Object(
  {
    contains: Type.Optional(
      Type.String({ maxLength: SOURCE_CHARACTERS, description: 'Only sources whose name contains this text, ignoring case.' }),
    ),
    limit,
    after: after(SOURCE_CHARACTERS),
    collection,
  },
  { additionalProperties: false },
)
export const SourcesSchema = Type.Object({
  sources: Type.Array(SourceSchema, { description: 'Ordered by name.' }),
  total: Type.Object({ sources: Type.Integer(), passages: Type.Integer() }, { description: 'Total over all pages.' }),
  next,
})
const PassagesQuerySchema = Type.Object(
  {
    source,
    limit,
    after: after(READ_LIMITS.idBytes + 32),
    collection,
  },
  { additionalProperties: false },
)
export const PassagesSchema = Type.Object({
  passages: Type.Array(StoredPassageSchema),
  total: Type.Integer({ description: 'Total over all pages.' }),
  order: Type.Enum(['position', 'id'], {
    description: `position: by \`metadata.position\`, the order of the document. id: by id, without positions, with several sources or more than ${MOST_SORTED} passages.`,
  }),
  next,
})

/** GET /v1/sources and GET /v1/passages: the sources of a collection, and the passages of one. */
export const browseRoutes: Routes = (app, { access }) => {
  const sources = { tags: ['passages'], operationId: 'browseSources', summary: 'List sources with passage counts' }
  app.get(
    '/v1/sources',
    { schema: { ...sources, querystring: SourcesQuerySchema, response: { 200: SourcesSchema, ...errorResponses(404) } } },
    async (request) => {
      const { contains = '', limit = PAGE, after, collection } = request.query
      const all = await sourcesOf(await access.index(request, collection), 0)
      const found = all.filter(({ source }) => source.toLowerCase().includes(contains.toLowerCase())).sort(bySource)
      const rest = after === undefined ? found : found.filter(({ source }) => source > after)
      return {
        sources: rest.slice(0, limit).map(({ source, passages }) => ({ source, passages })),
        total: { sources: found.length, passages: found.reduce((sum, { passages }) => sum + passages, 0) },
        next: rest.length > limit ? at(rest, limit - 1).source : null,
      }
    },
  )
  const passages = { tags: ['passages'], operationId: 'browsePassages', summary: 'List the passages of a source in reading order' }
  app.get(
    '/v1/passages',
    { schema: { ...passages, querystring: PassagesQuerySchema, response: { 200: PassagesSchema, ...errorResponses(404) } } },
    async (request) => {
      const { fileOf } = access.answering(request)
      const { collection } = request.query
      const { passages, ...page } = await passagesOf(await access.index(request, collection), request.query)
      const linked = passages.map(async (passage) => withFile(passage, await fileOf?.(passage, collection)))
      return { passages: await Promise.all(linked), ...page }
    },
  )
}

function bySource({ source: a }: { readonly source: string }, { source: b }: { readonly source: string }): number {
  return a < b ? -1 : Number(a > b)
}

/** A page of a source's passages. Only documents have positions; they are short enough to be sorted here. */
async function passagesOf(
  index: PassageIndex,
  { source, limit = PAGE, after }: Static<typeof PassagesQuerySchema>,
): Promise<Omit<Static<typeof PassagesSchema>, 'passages'> & { readonly passages: Passage[] }> {
  const filter = source === undefined ? {} : { source }
  const [total, [first]] = await Promise.all([index.count(filter), index.list({ limit: 1, filter })])
  const sorted = source !== undefined && total <= MOST_SORTED && first !== undefined && Number.isFinite(positionOf(first))
  if (!sorted) {
    const found = await index.list({ limit: limit + 1, filter, ...(after !== undefined && { after }) })
    const passages = found.slice(0, limit)
    return { passages, total, order: 'id', next: found.length > limit ? (passages.at(-1)?.id ?? null) : null }
  }
  // Sorting is stable: of one position, ids stay in order.
  const all = (await index.list({ limit: MOST_SORTED, filter })).sort((a, b) => positionOf(a) - positionOf(b) || 0)
  const start = after === undefined ? 0 : all.findIndex((one) => isAfter(one, after))
  const passages = start < 0 ? [] : all.slice(start, start + limit)
  const last = passages.at(-1)
  return { passages, total, order: 'position', next: last === undefined || last === all.at(-1) ? null : `${positionOf(last)} ${last.id}` }
}

function positionOf({ metadata }: Passage): number {
  return typeof metadata?.position === 'number' ? metadata.position : Infinity
}

/** Whether a passage follows a cursor, the position and id of another. */
function isAfter(one: Passage, cursor: string): boolean {
  const space = cursor.indexOf(' ')
  const position = Number(cursor.slice(0, Math.max(0, space)))
  return positionOf(one) > position || (positionOf(one) === position && one.id > cursor.slice(space + 1))
}
