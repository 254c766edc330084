import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { answerQuestion } from '../../rag/answer.ts'
import { AnswerEventSchema, answerEvents } from '../../rag/answer-events.ts'
import {
  AnswerRequestSchema,
  AnswerResponseSchema,
  SearchRequestSchema,
  SearchResponseSchema,
  type AnswerRequest,
} from '../../rag/schema.ts'
import { ScoreRequestSchema, ScoreResponseSchema, scoreChoices } from '../../rag/score.ts'
import { search } from '../../rag/search.ts'
import { closed } from '../../text/fields.ts'
import { errorResponses } from '../errors/error-body.ts'
import { runOptions } from '../request/run-options.ts'
import { sendEvents, serverEvent } from '../request/stream-response.ts'
import { errorBody, reportError } from '../errors/describe-error.ts'
import type { Routes } from './context.ts'

export const AnswerBodySchema = closed({
  ...AnswerRequestSchema.properties,
  stream: Type.Optional(Type.Boolean({ description: 'Stream server-sent events, as POST /v1/answer/stream does. Default: false.' })),
})

const tags = ['questions']
const failures = errorResponses(404, 422, 504)
const EVENTS =
  'Server-sent events: `evidence`, then `token` ({text}, repeated), then `answer` (the body of POST /v1/answer); on a failure `error` is last. Comment lines keep the connection open.'

/** POST /v1/answer: answers a question with evidence, optionally as server-sent events. */
export const answerRoutes: Routes = (app, { access, config: { DEADLINE_MS: deadlineMs } }) => {
  const sendAnswer = (question: AnswerRequest, request: FastifyRequest, reply: FastifyReply) =>
    sendEvents(reply, {
      events: answerEvents(question, access.answering(request), runOptions(request, reply, deadlineMs)),
      format: ({ event, data }) => serverEvent(JSON.stringify(data), event),
      failed: (error) => serverEvent(JSON.stringify(errorBody(reportError(error, request), request)), 'error'),
    })
  // One response type an operation: generated clients could not tell a stream from JSON.
  const whole = { tags, operationId: 'answer', summary: 'Answer a question from the corpus', body: AnswerBodySchema }
  const response = { 200: AnswerResponseSchema, ...failures }
  app.post('/v1/answer', { schema: { ...whole, response } }, async (request, reply) => {
    const { stream = false, ...question } = request.body
    if (stream) return sendAnswer(question, request, reply)
    return answerQuestion(question, access.answering(request), runOptions(request, reply, deadlineMs))
  })

  const streamed = { tags, operationId: 'streamAnswer', summary: 'Answer a question from the corpus as a stream of events' }
  const events = { description: EVENTS, content: { 'text/event-stream': { schema: AnswerEventSchema } } }
  const schema = { ...streamed, body: AnswerRequestSchema, response: { 200: events, ...failures } }
  app.post('/v1/answer/stream', { schema }, async (request, reply) => sendAnswer(request.body, request, reply))
}

/** POST /v1/search: retrieval without an answer. POST /v1/score: log-likelihoods of given answers (multiple choice, classification). */
export const searchRoutes: Routes = (app, { access, config: { DEADLINE_MS: deadlineMs } }) => {
  const find = { operationId: 'search', summary: 'Find passages', body: SearchRequestSchema }
  app.post('/v1/search', { schema: { tags, ...find, response: { 200: SearchResponseSchema, ...failures } } }, (request, reply) =>
    search(request.body, access.answering(request), runOptions(request, reply, deadlineMs)),
  )
  const score = { operationId: 'score', summary: 'Score possible answers', body: ScoreRequestSchema }
  app.post('/v1/score', { schema: { tags, ...score, response: { 200: ScoreResponseSchema, ...failures } } }, (request, reply) =>
    scoreChoices(request.body, access.answering(request), runOptions(request, reply, deadlineMs)),
  )
}
