import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { ScoreRequestSchema, ScoreResponseSchema } from '../../rag/schema.ts'
import { scoreChoices } from '../../rag/score.ts'
import { clientSignal } from '../plugins/client-signal.ts'
import { errorResponses } from '../plugins/errors.ts'
import type { QuestionRouteOptions } from './answer.ts'

/** POST /v1/score: log-likelihood of given answers (multiple choice, classification). */
export const scoreRoute: FastifyPluginAsyncTypebox<QuestionRouteOptions> = (app, { services, deadlineMs }) => {
  app.post(
    '/v1/score',
    {
      schema: {
        tags: ['questions'],
        summary: 'Score possible answers',
        body: ScoreRequestSchema,
        response: { 200: ScoreResponseSchema, ...errorResponses(400, 413, 415, 422, 429, 500, 503, 504) },
      },
    },
    (request, reply) => scoreChoices(request.body, services, { signal: clientSignal(reply), deadlineMs, client: request.ip }),
  )
  return Promise.resolve()
}
