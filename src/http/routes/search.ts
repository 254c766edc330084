import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { search } from '../../rag/search.ts'
import { SearchRequestSchema, SearchResponseSchema } from '../../rag/schema.ts'
import { bodyErrorResponses } from '../errors/error-body.ts'
import { runOptions } from '../request/run-options.ts'
import type { QuestionRouteOptions } from './answer.ts'
import { ScoreRequestSchema, ScoreResponseSchema, scoreChoices } from '../../rag/score.ts'

/** POST /v1/search: retrieval without an answer. */
export const searchRoutes: FastifyPluginAsyncTypebox<QuestionRouteOptions> = (app, { access, deadlineMs }) => {
  app.post(
    '/v1/search',
    {
      schema: {
        tags: ['questions'],
        operationId: 'search',
        summary: 'Find passages',
        body: SearchRequestSchema,
        response: { 200: SearchResponseSchema, ...bodyErrorResponses(404, 422, 504) },
      },
    },
    (request, reply) => search(request.body, access.answering(request), runOptions(request, reply, deadlineMs)),
  )
  return Promise.resolve()
}

/** POST /v1/score: log-likelihoods of given answers (multiple choice, classification). */
export const scoreRoutes: FastifyPluginAsyncTypebox<QuestionRouteOptions> = (app, { access, deadlineMs }) => {
  app.post(
    '/v1/score',
    {
      schema: {
        tags: ['questions'],
        operationId: 'score',
        summary: 'Score possible answers',
        body: ScoreRequestSchema,
        response: { 200: ScoreResponseSchema, ...bodyErrorResponses(404, 422, 504) },
      },
    },
    (request, reply) => scoreChoices(request.body, access.answering(request), runOptions(request, reply, deadlineMs)),
  )
  return Promise.resolve()
}
