import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { randomUUID } from 'node:crypto'
import { at } from '../../../base/at.ts'
import { CodedError } from '../../../base/errors.ts'
import { modelId } from '../../../models/manifest.ts'
import { rerank } from '../../rag/rerank.ts'
import { bodyErrorResponses } from '../errors/error-body.ts'
import { runOptions } from '../request/run-options.ts'
import type { QuestionRouteOptions } from './answer.ts'
import { isNamed, isReader } from './model-name.ts'
import { RankRequestSchema, RankResponseSchema, RerankRequestSchema, RerankResponseSchema } from './rerank-schema.ts'

const tags = ['questions']

/** POST /v1/rerank and POST /rerank: ranks documents by the cross-encoder, or by the reader's likelihood of the query given each. */
export const rerankRoutes: FastifyPluginAsyncTypebox<QuestionRouteOptions> = (app, { services, deadlineMs }) => {
  const model = modelId((services.reranker ?? services.reader).manifest)
  const isServed = (wanted: string): boolean => (services.reranker ? isNamed(wanted, model) : isReader(wanted, model))
  app.post(
    '/v1/rerank',
    {
      schema: {
        tags,
        operationId: 'rerank',
        summary: "Order documents by how well they fit a query (Cohere's and Jina's form)",
        body: RerankRequestSchema,
        response: { 200: RerankResponseSchema, ...bodyErrorResponses(404, 422, 504) },
      },
    },
    async (request, reply) => {
      const { body } = request
      if (body.model !== undefined && !isServed(body.model))
        throw new CodedError('not_found', `The model "${body.model.slice(0, 100)}" does not exist: leave it out, or name ${model}.`, {
          field: 'model',
        })
      const { query, max_tokens_per_doc: contextTokens, top_n: most, return_documents: returned = false } = body
      const documents = body.documents.map((document) => (typeof document === 'string' ? { text: document } : document))
      const passages = documents.map(({ text, title = '' }) => ({ text, title }))
      const { ranked, promptTokens } = await rerank({ query, passages, contextTokens }, services, runOptions(request, reply, deadlineMs))
      return {
        id: randomUUID(),
        model,
        results: ranked.slice(0, most).map(({ index, score }) => ({
          index,
          relevance_score: score,
          ...(returned && { document: at(documents, index) }),
        })),
        usage: { total_tokens: promptTokens },
      }
    },
  )

  app.post(
    '/rerank',
    {
      schema: {
        tags,
        operationId: 'rankTexts',
        summary: "Order texts by how well they fit a query (text-embeddings-inference's form)",
        body: RankRequestSchema,
        response: { 200: RankResponseSchema, ...bodyErrorResponses(422, 504) },
      },
    },
    async (request, reply) => {
      const { query, texts, raw_scores: raw = false, return_text: returned = false } = request.body
      const passages = texts.map((text) => ({ title: '', text }))
      const { ranked } = await rerank({ query, passages }, services, runOptions(request, reply, deadlineMs))
      return ranked.map(({ index, raw: unbounded, score }) => ({
        index,
        score: raw ? unbounded : score,
        ...(returned && { text: at(texts, index) }),
      }))
    },
  )
  return Promise.resolve()
}
