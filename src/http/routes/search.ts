import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { searchPassages } from '../../rag/retrieve.ts'
import { SearchRequestSchema, SearchResponseSchema } from '../../rag/schema.ts'
import { clientSignal } from '../plugins/client-signal.ts'
import { errorResponses } from '../plugins/errors.ts'
import type { QuestionRouteOptions } from './answer.ts'

/** POST /v1/search: the retriever alone. */
export const searchRoute: FastifyPluginAsyncTypebox<QuestionRouteOptions> = (app, { services, deadlineMs }) => {
  app.post(
    '/v1/search',
    {
      schema: {
        tags: ['questions'],
        summary: 'Find passages',
        body: SearchRequestSchema,
        response: { 200: SearchResponseSchema, ...errorResponses(400, 413, 415, 429, 500, 503, 504) },
      },
    },
    (request, reply) => searchPassages(request.body, services.retriever, { signal: clientSignal(reply), deadlineMs, client: request.ip }),
  )
  return Promise.resolve()
}
