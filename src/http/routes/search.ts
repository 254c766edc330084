import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { search } from '../../rag/search.ts'
import { SearchRequestSchema, SearchResponseSchema } from '../../rag/schema.ts'
import { bodyErrorResponses } from '../errors/error-body.ts'
import { runOptions } from '../request/run-options.ts'
import type { QuestionRouteOptions } from './answer.ts'

/** POST /v1/search: the retriever alone. */
export const searchRoute: FastifyPluginAsyncTypebox<QuestionRouteOptions> = (app, { services, deadlineMs }) => {
  app.post(
    '/v1/search',
    {
      schema: {
        tags: ['questions'],
        operationId: 'search',
        summary: 'Find passages',
        body: SearchRequestSchema,
        response: { 200: SearchResponseSchema, ...bodyErrorResponses(422, 504) },
      },
    },
    (request, reply) => search(request.body, services, runOptions(request, reply, deadlineMs)),
  )
  return Promise.resolve()
}
