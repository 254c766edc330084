import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { answerQuestion } from '../../rag/answer.ts'
import type { AnswerServices } from '../../rag/pipeline.ts'
import { AnswerRequestSchema, AnswerResponseSchema } from '../../rag/schema.ts'
import { bodyErrorResponses } from '../error-body.ts'
import { runOptions } from '../run-options.ts'

export interface QuestionRouteOptions {
  readonly services: AnswerServices
  /** Milliseconds that a question may take, queueing included. */
  readonly deadlineMs: number
}

/** POST /v1/answer: a question in, an answer with its evidence out. */
export const answerRoute: FastifyPluginAsyncTypebox<QuestionRouteOptions> = (app, { services, deadlineMs }) => {
  app.post(
    '/v1/answer',
    {
      schema: {
        tags: ['questions'],
        summary: 'Answer a question from the corpus',
        body: AnswerRequestSchema,
        response: { 200: AnswerResponseSchema, ...bodyErrorResponses(422, 504) },
      },
    },
    (request, reply) => answerQuestion(request.body, services, runOptions(request, reply, deadlineMs)),
  )
  return Promise.resolve()
}
