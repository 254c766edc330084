import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { ScoreRequestSchema, ScoreResponseSchema } from '../../rag/score-schema.ts'
import { scoreChoices } from '../../rag/score.ts'
import { bodyErrorResponses } from '../errors/error-body.ts'
import { runOptions } from '../request/run-options.ts'
import type { QuestionRouteOptions } from './answer.ts'

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
