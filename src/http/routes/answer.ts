import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyError } from 'fastify'
import { Type } from '#typebox'
import { answerQuestion } from '../../rag/answer.ts'
import { AnswerEventSchema, answerEvents } from '../../rag/answer-events.ts'
import type { AnswerServices } from '../../rag/pipeline.ts'
import { AnswerRequestSchema, AnswerResponseSchema } from '../../rag/schema.ts'
import { bodyErrorResponses } from '../errors/error-body.ts'
import type { CollectionAccess } from '../request/collections.ts'
import type { PublicText } from '../errors/public-text.ts'
import { runOptions } from '../request/run-options.ts'
import { sendEvents, serverEvent } from '../request/stream-response.ts'
import { errorBody, reportError } from '../errors/report-error.ts'

export interface QuestionRouteOptions {
  /** Models and main collection; `access.answering(request)` selects the services of a request. */
  readonly services: AnswerServices
  readonly access: CollectionAccess
  /** Time limit of a question in milliseconds, including queueing. */
  readonly deadlineMs: number
}

export interface AnswerRouteOptions extends QuestionRouteOptions {
  readonly publicText: PublicText
}

const BodySchema = Type.Object(
  {
    ...AnswerRequestSchema.properties,
    stream: Type.Optional(Type.Boolean({ description: 'Answer in server-sent events, as the answer comes about. Default: false.' })),
  },
  { additionalProperties: false },
)

const EVENTS =
  'Server-sent events, in this order: `evidence` ({evidence: [{id, title, text, source?, score, rank}], model, index}), ' +
  '`token` ({text}, as often as needed; the texts joined are the answer), `answer` (the whole body of the unstreamed answer). ' +
  'Where something goes wrong on the way, `error` (the body of an error) is the last event. Lines that begin with a colon say nothing.'

/** POST /v1/answer: answers a question with evidence, optionally as server-sent events. */
export const answerRoutes: FastifyPluginAsyncTypebox<AnswerRouteOptions> = (app, { access, deadlineMs, publicText }) => {
  app.post(
    '/v1/answer',
    {
      schema: {
        tags: ['questions'],
        operationId: 'answer',
        summary: 'Answer a question from the corpus',
        body: BodySchema,
        response: {
          200: {
            description: 'The answer; with `stream`, events.',
            content: {
              'application/json': { schema: AnswerResponseSchema },
              'text/event-stream': { schema: { ...AnswerEventSchema, description: EVENTS } },
            },
          },
          ...bodyErrorResponses(404, 422, 504),
        },
      },
    },
    async (request, reply) => {
      const { stream = false, ...question } = request.body
      const run = runOptions(request, reply, deadlineMs)
      const services = access.answering(request)
      if (!stream) return answerQuestion(question, services, run)
      return sendEvents(reply, {
        events: answerEvents(question, services, run),
        format: ({ event, data }) => serverEvent(JSON.stringify(data), event),
        failed: (error) => {
          const described = reportError(error as FastifyError, request, publicText)
          return serverEvent(JSON.stringify(errorBody(described, request)), 'error')
        },
      })
    },
  )
  return Promise.resolve()
}
