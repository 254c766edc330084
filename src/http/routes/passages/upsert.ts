import { Type, type Static } from 'typebox'
import { Value } from 'typebox/value'
import { setImmediate } from 'node:timers/promises'
import { clipped } from '../../../../base/sentences.ts'
import { CodedError, invalidField } from '../../../../base/errors.ts'
import { ModelChangedError, type Passage, passageText } from '../../../../index/contract.ts'
import type { PassageIndex } from '../../../../index/passage-index.ts'
import { CollectionNameSchema } from '../../../../index/table-name.ts'
import { checkRow } from '../../../../index/read/validate.ts'
import { promptOf } from '../../../../models/manifest.ts'
import { embedderOf } from '../../../inference/contract.ts'
import { clientSignal } from '../../request/run-options.ts'
import { describeValidation } from '../../errors/describe-validation.ts'
import { errorResponses } from '../../errors/error-body.ts'
import { IdempotencyHeaders } from '../../idempotency/idempotency.ts'
import type { CountTokens, Routes } from '../context.ts'
import { MOST_PASSAGES, PassageSchema } from './passages.ts'
import { splitDocument } from '../../../../index/read/units.ts'
import { closed, optionalBoolean, orNull } from '../../../text/fields.ts'

/** A valid passage of the request and the passages to store: itself or its parts. */
interface Accepted {
  readonly id: string
  readonly passages: readonly Passage[]
  readonly isSplit: boolean
}

/** @throws invalid_request if there are more parts than a request may change */
function partsOf(items: readonly Accepted[]): Passage[] {
  const passages = items.flatMap((item) => item.passages)
  const problem = `makes ${passages.length} passages; a request changes ${MOST_PASSAGES} at most: send fewer documents at once, or import a file`
  if (passages.length > MOST_PASSAGES) throw invalidField('split', problem)
  return passages
}

/** Counts truncated passages, yielding to other requests: counting takes up to some milliseconds per passage. */
async function truncation(passages: readonly Passage[], index: PassageIndex, unreadTokens: CountTokens) {
  const { id: model } = await index.writtenWith()
  const truncated: { id: string; tokens: number }[] = []
  for (const passage of passages) {
    const tokens = unreadTokens(passageText(passage), model)
    if (tokens > 0) truncated.push({ id: passage.id, tokens })
    await setImmediate()
  }
  const all = truncated.reduce((sum, { tokens }) => sum + tokens, 0)
  return { truncated_tokens: all, ...(all > 0 && { truncated }) }
}

const QuerySchema = Type.Object({
  partial: Type.Optional(
    Type.Boolean({
      default: false,
      description: 'Write the valid passages and return a result for each. Default: false, one invalid passage rejects all.',
    }),
  ),
  collection: Type.Optional(CollectionNameSchema),
})
const split = optionalBoolean('Split each text into passages of about 100 words with ids `id#1`, `id#2`, ... Default: false.')
export const UpsertSchema = closed({ passages: Type.Array(PassageSchema, { minItems: 1, maxItems: MOST_PASSAGES }), split })
/** Schema of the envelope: each passage is validated separately, and fails alone with `partial`. */
const LooseSchema = closed({ passages: Type.Array(Type.Unknown(), { minItems: 1, maxItems: MOST_PASSAGES }), split })
const ResultSchema = Type.Object({
  id: orNull(Type.String(), 'Null if the passage has no readable id.'),
  status: Type.Enum(['upserted', 'unchanged', 'rejected']),
  error: Type.Optional(Type.Object({ code: Type.String(), message: Type.String(), field: Type.Optional(Type.String()) })),
})
export const UpsertedSchema = Type.Object({
  upserted: Type.Integer({ description: 'Passages written.' }),
  unchanged: Type.Integer({ description: 'Unchanged passages, neither embedded nor written.' }),
  truncated_tokens: Type.Integer({
    description: 'Retriever tokens beyond the limits of retriever and reader, in total; they are stored, but only text search finds them.',
  }),
  truncated: Type.Optional(
    Type.Array(Type.Object({ id: Type.String(), tokens: Type.Integer() }), { description: 'Passages with such tokens.' }),
  ),
  rejected: Type.Optional(Type.Integer({ description: 'With partial: number of passages that were rejected.' })),
  results: Type.Optional(Type.Array(ResultSchema, { description: 'With partial: one result per passage, in request order.' })),
})

type Upserted = Static<typeof UpsertedSchema>
type Result = Static<typeof ResultSchema>
type Checked = Accepted | Required<Pick<Result, 'id' | 'error'>>

/** PUT /v1/passages: inserts or replaces passages, durable when acknowledged and visible to the next question. */
export const upsertRoutes: Routes = (app, { access, once, services }) => {
  const upsert = async (index: PassageIndex, items: readonly Accepted[], signal: AbortSignal): Promise<ReadonlySet<string>> => {
    const given = partsOf(items)
    if (given.length === 0) return new Set()
    for (;;) {
      const model = await index.writtenWith()
      const changed = await index.changed(given)
      const embedder = embedderOf(services, model)
      const prompt = promptOf(embedder.manifest, 'passage')
      const texts = changed.map((passage) => prompt + passageText(passage))
      const vectors = await embedder.embed(texts, { priority: 'bulk', signal })
      // A shorter version of a split document removes parts of a longer one.
      const ends = items.flatMap(({ id, passages, isSplit }) => (isSplit ? [{ document: id, parts: passages.length }] : []))
      try {
        await index.upsert(changed, vectors, { by: model, ends })
        return new Set(changed.map(({ id }) => id))
      } catch (error) {
        // The table was replaced concurrently by one of another model: embed again with that model.
        if (!(error instanceof ModelChangedError)) throw error
      }
    }
  }

  app.route({
    method: ['PUT', 'POST'],
    url: '/v1/passages',
    onRequest: app.requireAdmin,
    config: { checksItems: true, documentedBody: { content: { 'application/json': { schema: UpsertSchema } } } },
    schema: {
      tags: ['passages'],
      operationId: 'upsertPassages',
      summary: 'Insert or replace passages by id',
      headers: IdempotencyHeaders,
      querystring: QuerySchema,
      body: LooseSchema,
      response: { 200: UpsertedSchema, ...errorResponses(404, 409, 422, 507) },
    },
    handler: async (request, reply) => {
      const { partial = false, collection } = request.query
      const items = checkAll(request.body, partial)
      const index = await access.index(request, collection)
      return once(request, reply, {
        collection: index.table,
        work: async (): Promise<Upserted> => {
          const accepted = items.flatMap((item) => ('passages' in item ? [item] : []))
          const passages = accepted.flatMap((item) => item.passages)
          const changed = await upsert(index, accepted, clientSignal(reply))
          const counts = {
            upserted: changed.size,
            unchanged: passages.length - changed.size,
            ...(await truncation(passages, index, services.unreadTokens)),
          }
          if (!partial) return counts
          const results = items.map((item) => resultOf(item, changed))
          return { ...counts, rejected: items.length - accepted.length, results }
        },
      })
    },
  })
}

function resultOf(item: Checked, changed: ReadonlySet<string>): Result {
  if ('error' in item) return { id: item.id, status: 'rejected', error: item.error }
  return { id: item.id, status: item.passages.some(({ id }) => changed.has(id)) ? 'upserted' : 'unchanged' }
}

/** Validates each passage of a request. @throws the error of the first invalid passage, unless `partial` */
function checkAll({ passages: given, split = false }: Static<typeof LooseSchema>, partial: boolean): Checked[] {
  const seen = new Set<string>()
  return given.map((one, at) => {
    const item = check(one, { at, seen, split })
    if ('error' in item && !partial) throw new CodedError('invalid_request', item.error.message, { field: item.error.field })
    return item
  })
}

function check(given: unknown, { at, seen, split }: { at: number; seen: Set<string>; split: boolean }): Checked {
  const path = `passages.${at}`
  const id = typeof given === 'object' && given !== null && 'id' in given && typeof given.id === 'string' ? clipped(given.id, 512) : null
  const reject = (message: string, field = path): Checked => ({ id, error: { code: 'invalid_request', message, field } })
  if (!Value.Check(PassageSchema, given)) {
    const { field, message } = describeValidation([...Value.Errors(PassageSchema, given)], 'passage')
    return reject(field === undefined ? `${path}: ${message}` : `${path}.${message}`, field === undefined ? path : `${path}.${field}`)
  }
  const item = checkRow({ line: at, source: undefined, metadata: undefined, ...given }, { exact: true })
  if ('reason' in item) return reject(`${path}: ${item.detail}`)
  const { passage } = item
  if (seen.has(passage.id))
    return reject(`${path}: the id "${clipped(passage.id, 100)}" occurs twice; send each passage once.`, `${path}.id`)
  seen.add(passage.id)
  const passages = split ? Array.from(splitDocument(passage), (part) => part.passage) : [passage]
  return { id: passage.id, passages, isSplit: split }
}
