import { search } from '../../rag/search.ts'
import { SearchRequestSchema, SearchResponseSchema } from '../../rag/schema.ts'
import { bodyErrorResponses } from '../errors/error-body.ts'
import { runOptions } from '../request/run-options.ts'
import type { Routes } from './context.ts'
import { ScoreRequestSchema, ScoreResponseSchema, scoreChoices } from '../../rag/score.ts'

/** POST /v1/search: retrieval without an answer. POST /v1/score: log-likelihoods of given answers (multiple choice, classification). */
export const searchRoutes: Routes = (app, { access, config }) => {
  const tags = ['questions']
  const failures = bodyErrorResponses(404, 422, 504)
  const find = { operationId: 'search', summary: 'Find passages', body: SearchRequestSchema }
  app.post('/v1/search', { schema: { tags, ...find, response: { 200: SearchResponseSchema, ...failures } } }, (request, reply) =>
    search(request.body, access.answering(request), runOptions(request, reply, config.DEADLINE_MS)),
  )
  const score = { operationId: 'score', summary: 'Score possible answers', body: ScoreRequestSchema }
  app.post('/v1/score', { schema: { tags, ...score, response: { 200: ScoreResponseSchema, ...failures } } }, (request, reply) =>
    scoreChoices(request.body, access.answering(request), runOptions(request, reply, config.DEADLINE_MS)),
  )
}
