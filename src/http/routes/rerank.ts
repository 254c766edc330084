import type { FastifySchema, FastifySchemaCompiler } from 'fastify'
import { randomUUID } from 'node:crypto'
import { Compile } from 'typebox/compile'
import { Type, type Static, type TSchema } from 'typebox'
import { at } from '../../../base/at.ts'
import { isObject } from '../../../base/json.ts'
import { clipped } from '../../../base/sentences.ts'
import { invalidField, notFound } from '../../../base/errors.ts'
import { modelId } from '../../../models/manifest.ts'
import { rerank } from '../../rag/rerank.ts'
import { errorResponses } from '../errors/error-body.ts'
import { runOptions } from '../request/run-options.ts'
import { setIgnoredHeader } from '../request/unread.ts'
import type { Routes } from './context.ts'
import { isReader } from '../observability/models.ts'
import { closed, nonBlank, optionalBoolean, optionalCount, optionalName, optionalText } from '../../text/fields.ts'
import { LIMITS } from '../../rag/limits.ts'

const query = nonBlank(LIMITS.questionCharacters, 'Query that the documents are scored against.')
const text = Type.String({ maxLength: LIMITS.passageCharacters })
const documents = { minItems: 1, maxItems: LIMITS.suppliedPassages } as const

const DocumentSchema = closed({ text, title: optionalText(1000, 'Read before the text.') })
const score = (description: string) => Type.Number({ description })

/** Fields of both formats. */
const common = {
  model: optionalName(512, 'Model to rerank with: the cross-encoder or reader by id or short name, or cepe.'),
  query,
  top_n: optionalCount(1, 'Maximum number of results. Default: all.'),
  raw_scores: optionalBoolean(
    'Return logits (cross-encoder) or mean log-probabilities (reader) instead of scores from 0 to 1. Default: false.',
  ),
}
const effectless = { description: 'No effect.' }
const ignoredIn = (body: object): string[] => ['max_chunks_per_doc', 'priority', 'user'].filter((name) => name in body)

/** Request format of Cohere, Jina and Infinity. */
export const RerankRequestSchema = closed({
  ...common,
  documents: Type.Array(Type.Union([text, DocumentSchema]), documents),
  return_documents: optionalBoolean('Return the documents too. Default: false.'),
  max_tokens_per_doc: optionalCount(1, "Maximum number of tokens per document. Default: the model's limit."),
  rank_fields: Type.Optional(
    Type.Array(Type.Enum(['text', 'title']), {
      description: 'Fields of the documents to read; must include `text`. Default: title and text.',
    }),
  ),
  max_chunks_per_doc: Type.Optional(Type.Integer({ minimum: 1, ...effectless })),
  priority: Type.Optional(Type.Integer(effectless)),
  user: Type.Optional(Type.String(effectless)),
})
type RerankRequest = Static<typeof RerankRequestSchema>

function responseOf<Document extends TSchema>(document: Document) {
  const result = {
    index: Type.Integer({ description: 'Index in the request.' }),
    relevance_score: score(
      "0 to 1, not calibrated. Cross-encoder: sigmoid of the logit. Reader: geometric mean of the query's token probabilities, comparable within one request only.",
    ),
    document: Type.Optional(document),
  }
  return Type.Object({
    id: Type.String(),
    model: Type.String(),
    results: Type.Array(Type.Object(result), { description: 'Best first.' }),
    usage: Type.Object({ total_tokens: Type.Integer() }),
  })
}

export const RerankResponseSchema = responseOf(DocumentSchema)

/** Request format of text-embeddings-inference. */
const RankRequestSchema = closed({
  ...common,
  texts: Type.Array(text, documents),
  return_text: optionalBoolean('Return the texts too. Default: false.'),
  truncate: optionalBoolean('true: long texts are truncated at the end. false is not supported.'),
  truncation_direction: Type.Optional(
    Type.String({ pattern: '^[Rr]ight$', description: 'Only right: long texts are truncated at the end.' }),
  ),
})
type RankRequest = Static<typeof RankRequestSchema>

const RankResponseSchema = Type.Array(
  Type.Object({
    index: Type.Integer({ description: 'Index in the request.' }),
    score: score('See relevance_score of POST /v1/rerank.'),
    text: Type.Optional(Type.String()),
  }),
  { description: 'Best first.' },
)

const documentForm = { body: RerankRequestSchema, answer: RerankResponseSchema, of: 'Cohere, Jina and Infinity' }
const eitherForm = {
  body: Type.Union([RankRequestSchema, RerankRequestSchema]),
  answer: Type.Union([RankResponseSchema, responseOf(Type.Union([text, DocumentSchema]))]),
  of: 'text-embeddings-inference, or of Infinity',
}
const FORMS = { documents: Compile(RerankRequestSchema), texts: Compile(RankRequestSchema) } as const

/** The paths that clients of other services expect. Infinity's clients send documents where those of text-embeddings-inference send texts. */
const ROUTES = [
  { path: '/v1/rerank', operationId: 'rerank', form: documentForm },
  { path: '/v2/rerank', operationId: 'rerankDocuments', form: documentForm },
  { path: '/rerank', operationId: 'rankTexts', form: eitherForm },
] as const

/** Ranks documents by the cross-encoder, or by the reader's likelihood of the query given each. */
export const rerankRoutes: Routes = (app, { services: { answering: services }, config }) => {
  const model = modelId((services.reranker ?? services.reader).manifest)
  for (const { path, operationId, form } of ROUTES) {
    const isEither = form === eitherForm
    const schema: FastifySchema = {
      tags: ['questions'],
      operationId,
      summary: `Rerank documents by relevance to a query (form of ${form.of})`,
      body: form.body,
      response: { 200: form.answer, ...errorResponses(404, 422, 504) },
    }
    app.post(path, { schema, validatorCompiler: validatorOf(isEither) }, async (request, reply) => {
      const body = request.body as RerankRequest | RankRequest
      if (body.model !== undefined && !isReader(body.model, model))
        throw notFound('model', `The model "${clipped(body.model, 100)}" does not exist: leave it out, or name ${model}.`)
      if ('texts' in body && body.truncate === false)
        throw invalidField('truncate', 'is false, but long texts are always truncated here: omit it, and shorten or split the texts')
      setIgnoredHeader(reply, ignoredIn(body))
      const passages = passagesOf(body)
      const contextTokens = 'documents' in body ? body.max_tokens_per_doc : undefined
      const run = runOptions(request, reply, config.DEADLINE_MS)
      const { ranked, promptTokens } = await rerank({ query: body.query, passages, contextTokens }, services, run)
      const best = ranked.slice(0, body.top_n).map(({ index, raw, score }) => ({ index, score: body.raw_scores === true ? raw : score }))
      if ('texts' in body)
        return best.map(({ index, score }) => ({ index, score, ...(body.return_text === true && { text: at(body.texts, index) }) }))
      return {
        id: randomUUID(),
        model,
        results: best.map(({ index, score }) => ({
          index,
          relevance_score: score,
          // Infinity returns a text as text.
          ...(body.return_documents === true && { document: isEither ? at(body.documents, index) : documentOf(at(body.documents, index)) }),
        })),
        usage: { total_tokens: promptTokens },
      }
    })
  }
}

/** Validates a body against the schema of its form, told by the field of the documents. Null counts as absent. */
function validatorOf(isEither: boolean): FastifySchemaCompiler<unknown> {
  return () => (given: unknown) => {
    const value = withoutNulls(given)
    const body = FORMS[isEither && !(isObject(value) && 'documents' in value) ? 'texts' : 'documents']
    return body.Check(value) ? { value } : { error: body.Errors(value) as never }
  }
}

function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map((one: unknown) => (one === null ? one : withoutNulls(one)))
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).flatMap(([name, one]) => (one === null ? [] : [[name, withoutNulls(one)]])))
}

function documentOf(document: RerankRequest['documents'][number]) {
  return typeof document === 'string' ? { text: document } : document
}

function passagesOf(body: RerankRequest | RankRequest) {
  if ('texts' in body) return body.texts.map((text) => ({ title: '', text: text.normalize() }))
  const { rank_fields: fields = ['title', 'text'] } = body
  if (!fields.includes('text')) throw invalidField('rank_fields', 'leaves out text, which is always read: add it, or omit rank_fields')
  return body.documents
    .map(documentOf)
    .map(({ text, title = '' }) => ({ text: text.normalize(), title: fields.includes('title') ? title.normalize() : '' }))
}
