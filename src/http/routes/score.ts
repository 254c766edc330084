import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { ScoreRequestSchema, ScoreResponseSchema } from '../../rag/schema.ts'
import { scoreChoices } from '../../rag/score.ts'
import { bodyErrorResponses } from '../errors/error-body.ts'
import { runOptions } from '../request/run-options.ts'
import type { QuestionRouteOptions } from './answer.ts'

/** POST /v1/score: log-likelihood of given answers (multiple choice, classification). */
export const scoreRoute: FastifyPluginAsyncTypebox<QuestionRouteOptions> = (app, { services, deadlineMs }) => {
  app.post(
    '/v1/score',
    {
      schema: {
        tags: ['questions'],
        operationId: 'score',
        summary: 'Score possible answers',
        body: ScoreRequestSchema,
        response: { 200: ScoreResponseSchema, ...bodyErrorResponses(422, 504) },
      },
    },
    (request, reply) => scoreChoices(request.body, services, runOptions(request, reply, deadlineMs)),
  )
  return Promise.resolve()
}
