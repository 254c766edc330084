import { Type, type Static } from 'typebox'
import { at } from '../../../../base/at.ts'
import { invalidField } from '../../../../base/errors.ts'
import type { Passage } from '../../../../index/contract.ts'
import { READ_LIMITS } from '../../../../index/read/contract.ts'
import type { PassageIndex } from '../../../../index/passage-index.ts'
import { CollectionNameSchema } from '../../../../index/table-name.ts'
import { sourcesOf } from '../../../mcp/source-counts.ts'
import { optionalText } from '../../../text/fields.ts'
import { withFile } from '../../../rag/search.ts'
import { errorResponses } from '../../errors/error-body.ts'
import { next, PAGE, pageQuery, type Routes } from '../context.ts'
import { StoredPassageSchema } from './passages.ts'

/** Maximum passages of a source that are sorted by position. */
const MOST_SORTED = 10_000

const { sourceCharacters: SOURCE_CHARACTERS } = READ_LIMITS
const collection = Type.Optional(CollectionNameSchema)

const source = optionalText(SOURCE_CHARACTERS, 'Only passages from this source; empty: only those without one.')
const SourceSchema = Type.Object({
  source: Type.String({ description: 'Source; empty for passages without one.' }),
  passages: Type.Integer(),
})
/** Fields of routes that list passages or their sources. */
export const ListFields = { collection, source, sourceCount: SourceSchema }

const SourcesQuerySchema = Type.Object({
  contains: optionalText(SOURCE_CHARACTERS, 'Only sources whose name contains this text, ignoring case.'),
  ...pageQuery(SOURCE_CHARACTERS),
  collection,
})
export const SourcesSchema = Type.Object({
  sources: Type.Array(SourceSchema, { description: 'Ordered by name, the empty one last.' }),
  total: Type.Object({ sources: Type.Integer(), passages: Type.Integer() }, { description: 'Total over all pages.' }),
  next,
})
const PassagesQuerySchema = Type.Object({ source, ...pageQuery(READ_LIMITS.idBytes + 32), collection })
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
  const counted = { ...sources, querystring: SourcesQuerySchema, response: { 200: SourcesSchema, ...errorResponses(404) } }
  app.get('/v1/sources', { schema: counted }, async (request) => {
    const { contains = '', limit = PAGE, after, collection } = request.query
    const all = await sourcesOf(await access.index(request, collection), 0)
    const found = all
      .filter(({ source }) => source.toLowerCase().includes(contains.toLowerCase()))
      // Passages without a source come last: many clients end at an empty cursor.
      .sort((a, b) => Number(a.source === '') - Number(b.source === '') || (a.source < b.source ? -1 : 1))
    const rest = after === undefined ? found : found.filter(({ source }) => source === '' || source > after)
    return {
      sources: rest.slice(0, limit).map(({ source, passages }) => ({ source, passages })),
      total: { sources: found.length, passages: found.reduce((sum, { passages }) => sum + passages, 0) },
      next: rest.length > limit ? at(rest, limit - 1).source : null,
    }
  })
  const passages = { tags: ['passages'], operationId: 'browsePassages', summary: 'List the passages of a source in reading order' }
  const listed = { ...passages, querystring: PassagesQuerySchema, response: { 200: PassagesSchema, ...errorResponses(404) } }
  app.get('/v1/passages', { schema: listed }, async (request) => {
    const { fileOf } = access.answering(request)
    const { collection } = request.query
    const { passages, ...page } = await passagesOf(await access.index(request, collection), request.query)
    const linked = passages.map(async (passage) => withFile(passage, await fileOf?.(passage, collection)))
    return { passages: await Promise.all(linked), ...page }
  })
}

/** A page of passages, of one source if it is named, by id. */
export async function pageById(index: PassageIndex, { source, limit = PAGE, after }: Static<typeof PassagesQuerySchema>) {
  const narrowed = { ...(source !== undefined && { filter: { source } }), ...(after !== undefined && { after }) }
  const found = await index.list({ limit: limit + 1, ...narrowed })
  const passages = found.slice(0, limit)
  return { passages, next: found.length > limit ? (passages.at(-1)?.id ?? null) : null }
}

/** Stands between position and id in a cursor of that order; ids cannot contain it. */
const TAB = '\t'

/**
 * A page of a source's passages. Only documents have positions; they are short enough to be sorted here. A cursor continues in its own
 * order, although the passages may have another by now.
 * @throws invalid_request for a cursor of positions where there are too many passages by now
 */
async function passagesOf(
  index: PassageIndex,
  query: Static<typeof PassagesQuerySchema>,
): Promise<Omit<Static<typeof PassagesSchema>, 'passages'> & { readonly passages: Passage[] }> {
  const { source, limit = PAGE, after } = query
  const filter = source === undefined ? {} : { source }
  const [total, [first]] = await Promise.all([index.count(filter), index.list({ limit: 1, filter })])
  const canSort = source !== undefined && total <= MOST_SORTED
  const isSorted = after === undefined ? canSort && first !== undefined && Number.isFinite(placeOf(first)[0]) : after.includes(TAB)
  if (!isSorted) return { ...(await pageById(index, query)), total, order: 'id' }
  const [position, id = ''] = after?.split(TAB) ?? []
  if (!canSort || Number.isNaN(Number(position ?? 0)))
    throw invalidField('after', 'is no position by which these passages are listed now: begin with the first page')
  const all = (await index.list({ limit: MOST_SORTED, filter })).sort((a, b) => byPlace(placeOf(a), placeOf(b)))
  const rest = position === undefined ? all : all.filter((one) => byPlace(placeOf(one), [Number(position), id]) > 0)
  const passages = rest.slice(0, limit)
  const last = rest.length > limit ? passages.at(-1) : undefined
  return { passages, total, order: 'position', next: last === undefined ? null : placeOf(last).join(TAB) }
}

type Place = readonly [position: number, id: string]

function placeOf({ id, metadata }: Passage): Place {
  return [typeof metadata?.position === 'number' ? metadata.position : Infinity, id]
}

/** By position, then by id in the order of `index.list`. */
function byPlace([a, id]: Place, [b, other]: Place): number {
  return a - b || Buffer.compare(Buffer.from(id), Buffer.from(other))
}
