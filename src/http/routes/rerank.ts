import type { FastifySchema, FastifySchemaCompiler } from 'fastify'
import { randomUUID } from 'node:crypto'
import { Compile } from 'typebox/compile'
import { Type, type Static } from 'typebox'
import { at } from '../../../base/at.ts'
import { clipped } from '../../../base/sentences.ts'
import { invalidField, notFound } from '../../../base/errors.ts'
import { modelId } from '../../../models/manifest.ts'
import { rerank } from '../../rag/rerank.ts'
import { errorResponses } from '../errors/error-body.ts'
import { runOptions } from '../request/run-options.ts'
import type { Routes } from './context.ts'
import { isReader } from '../observability/models.ts'
import { closed, nonBlank, optionalBoolean, optionalCount, optionalName } from '../../rag/fields.ts'
import { LIMITS } from '../../rag/limits.ts'

const query = nonBlank(LIMITS.questionCharacters, 'Query that the documents are scored against.')
const text = Type.String({ maxLength: LIMITS.passageCharacters })
const documents = { minItems: 1, maxItems: LIMITS.suppliedPassages } as const

const DocumentSchema = Type.Object({ text, title: Type.Optional(Type.String({ maxLength: 1000 })) })
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
const ignored = { description: 'No effect.' }

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
  max_chunks_per_doc: Type.Optional(Type.Integer({ minimum: 1, ...ignored })),
  priority: Type.Optional(Type.Integer(ignored)),
  user: Type.Optional(Type.String(ignored)),
})
type RerankRequest = Static<typeof RerankRequestSchema>

export const RerankResponseSchema = Type.Object({
  id: Type.String(),
  model: Type.String(),
  results: Type.Array(
    Type.Object({
      index: Type.Integer({ description: 'Index in the request.' }),
      relevance_score: score(
        "0 to 1, not calibrated. Cross-encoder: sigmoid of the logit. Reader: geometric mean of the query's token probabilities, comparable within one request only.",
      ),
      document: Type.Optional(DocumentSchema),
    }),
    { description: 'Best first.' },
  ),
  usage: Type.Object({ total_tokens: Type.Integer() }),
})

/** Request format of text-embeddings-inference. */
const RankRequestSchema = closed({
  ...common,
  texts: Type.Array(text, documents),
  return_text: optionalBoolean('Return the texts too. Default: false.'),
  truncate: optionalBoolean('true: long texts are truncated at the end. false is not supported.'),
  truncation_direction: Type.Optional(Type.String({ pattern: '^[Rr]ight$', ...ignored })),
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

type Form = 'documents' | 'texts'
const FORMS = {
  documents: { body: Compile(RerankRequestSchema), answer: RerankResponseSchema, of: 'Cohere, Jina and Infinity' },
  texts: { body: Compile(RankRequestSchema), answer: RankResponseSchema, of: 'text-embeddings-inference' },
} as const

/** The paths that clients of other services expect, each with its own form. Either form is understood at all of them. */
const ROUTES = [
  { path: '/v1/rerank', operationId: 'rerank', own: 'documents' },
  { path: '/v2/rerank', operationId: 'rerankDocuments', own: 'documents' },
  { path: '/rerank', operationId: 'rankTexts', own: 'texts' },
] as const

/** Ranks documents by the cross-encoder, or by the reader's likelihood of the query given each. */
export const rerankRoutes: Routes = (app, { services: { answering: services }, config }) => {
  const model = modelId((services.reranker ?? services.reader).manifest)
  for (const { path, operationId, own } of ROUTES) {
    // Either form is validated and sent by this route itself.
    const schema: FastifySchema = {
      tags: ['questions'],
      operationId,
      summary: `Rerank documents by relevance to a query (form of ${FORMS[own].of}; the other is accepted too)`,
      body: FORMS[own].body.Type(),
      response: { 200: FORMS[own].answer, ...errorResponses(404, 422, 504) },
    }
    app.post(path, { schema, validatorCompiler: validatorOf(own) }, async (request, reply) => {
      const body = request.body as RerankRequest | RankRequest
      if (body.model !== undefined && !isReader(body.model, model))
        throw notFound('model', `The model "${clipped(body.model, 100)}" does not exist: leave it out, or name ${model}.`)
      if ('texts' in body && body.truncate === false)
        throw invalidField('truncate', 'is false, but long texts are always truncated here: omit it, and shorten or split the texts')
      const passages = passagesOf(body)
      const contextTokens = 'documents' in body ? body.max_tokens_per_doc : undefined
      const run = runOptions(request, reply, config.DEADLINE_MS)
      const { ranked, promptTokens } = await rerank({ query: body.query, passages, contextTokens }, services, run)
      const best = ranked.slice(0, body.top_n).map(({ index, raw, score }) => ({ index, score: body.raw_scores === true ? raw : score }))
      const isOwn = formOf(body, own) === own
      if (!isOwn) void reply.type('application/json; charset=utf-8').serializer(JSON.stringify)
      if ('texts' in body)
        return best.map(({ index, score }) => ({ index, score, ...(body.return_text === true && { text: at(body.texts, index) }) }))
      return {
        id: randomUUID(),
        model,
        results: best.map(({ index, score }) => ({
          index,
          relevance_score: score,
          // Infinity, which has /rerank alone, returns a text as text.
          ...(body.return_documents === true && { document: isOwn ? documentOf(at(body.documents, index)) : at(body.documents, index) }),
        })),
        usage: { total_tokens: promptTokens },
      }
    })
  }
}

function formOf(body: object, own: Form): Form {
  return 'documents' in body ? 'documents' : 'texts' in body ? 'texts' : own
}

/** Validates a body against the schema of its form. Null counts as absent. */
function validatorOf(own: Form): FastifySchemaCompiler<unknown> {
  return () => (given: unknown) => {
    const value = withoutNulls(given)
    const { body } = FORMS[typeof value === 'object' && value !== null ? formOf(value, own) : own]
    return body.Check(value) ? { value } : { error: body.Errors(value) as never }
  }
}

function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map((one: unknown) => (one === null ? one : withoutNulls(one)))
  if (typeof value !== 'object' || value === null) return value
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
