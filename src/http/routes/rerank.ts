import type { FastifyPluginAsync, FastifySchemaCompiler } from 'fastify'
import { randomUUID } from 'node:crypto'
import { Compile } from '#typebox/compile'
import { at } from '../../../base/at.ts'
import { CodedError } from '../../../base/errors.ts'
import { modelId } from '../../../models/manifest.ts'
import { rerank } from '../../rag/rerank.ts'
import { bodyErrorResponses } from '../errors/error-body.ts'
import { runOptions } from '../request/run-options.ts'
import type { QuestionRouteOptions } from './answer.ts'
import { isReader } from './model-name.ts'
import {
  RankRequestSchema,
  RankResponseSchema,
  RerankRequestSchema,
  RerankResponseSchema,
  type RankRequest,
  type RerankRequest,
} from './rerank-schema.ts'

type Form = 'documents' | 'texts'
const FORMS = {
  documents: { body: RerankRequestSchema, answer: RerankResponseSchema, of: "Cohere's, Jina's and Infinity's form" },
  texts: { body: RankRequestSchema, answer: RankResponseSchema, of: "text-embeddings-inference's form" },
} as const
const VALIDATORS = { documents: Compile(RerankRequestSchema), texts: Compile(RankRequestSchema) }

/** The paths that clients of other services expect, each with its own form. Either form is understood at all of them. */
const ROUTES = [
  { path: '/v1/rerank', operationId: 'rerank', own: 'documents' },
  { path: '/v2/rerank', operationId: 'rerankDocuments', own: 'documents' },
  { path: '/rerank', operationId: 'rankTexts', own: 'texts' },
] as const

/** Ranks documents by the cross-encoder, or by the reader's likelihood of the query given each. */
export const rerankRoutes: FastifyPluginAsync<QuestionRouteOptions> = (app, { services, deadlineMs }) => {
  const model = modelId((services.reranker ?? services.reader).manifest)
  for (const { path, operationId, own } of ROUTES) {
    const schema = {
      tags: ['questions'],
      operationId,
      summary: `Order documents by how well they fit a query (${FORMS[own].of}; the other form is understood too)`,
      body: FORMS[own].body,
      response: { 200: FORMS[own].answer, ...bodyErrorResponses(404, 422, 504) },
    }
    app.post(path, { schema, validatorCompiler: validatorOf(own) }, async (request, reply) => {
      const body = request.body as RerankRequest | RankRequest
      if (body.model !== undefined && !isReader(body.model, model))
        throw new CodedError('not_found', `The model "${body.model.slice(0, 100)}" does not exist: leave it out, or name ${model}.`, {
          field: 'model',
        })
      const passages = passagesOf(body)
      const contextTokens = 'documents' in body ? body.max_tokens_per_doc : undefined
      const run = runOptions(request, reply, deadlineMs)
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
  return Promise.resolve()
}

/** Tells the forms apart by the field of the documents. */
function formOf(body: object, own: Form): Form {
  return 'documents' in body ? 'documents' : 'texts' in body ? 'texts' : own
}

/** Validates a body against the schema of its form. Null counts as absent. */
function validatorOf(own: Form): FastifySchemaCompiler<unknown> {
  return () => (given: unknown) => {
    const value = withoutNulls(given)
    const validator = VALIDATORS[typeof value === 'object' && value !== null ? formOf(value, own) : own]
    return validator.Check(value) ? { value } : { error: validator.Errors(value) as never }
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
  if ('texts' in body) return body.texts.map((text) => ({ title: '', text }))
  const { rank_fields: fields = ['title'] } = body
  return body.documents.map(documentOf).map(({ text, title = '' }) => ({ text, title: fields.includes('title') ? title : '' }))
}
