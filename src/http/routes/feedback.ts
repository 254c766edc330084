import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { CodedError } from '../../../base/errors.ts'
import { LIMITS, nonBlank } from '../../rag/schema.ts'
import { bodyErrorResponses } from '../errors/error-body.ts'
import { FeedbackLog } from './feedback-log.ts'

export interface FeedbackOptions {
  /** Where it is kept; undefined: the route is off. */
  readonly file: string | undefined
  readonly maxBytes: number
}

/** Limits of one piece of feedback. */
const FEEDBACK_LIMITS = { answerCharacters: 4096, expected: 16, expectedCharacters: 1000, commentCharacters: 2000 } as const

const ParamsSchema = Type.Object({
  id: Type.String({ pattern: '^[A-Za-z0-9._:-]{1,128}$', description: "The answer's x-request-id." }),
})
const BodySchema = Type.Object(
  {
    question: nonBlank(LIMITS.questionCharacters, 'As it was asked.'),
    correct: Type.Boolean({ description: 'Whether the answer is right.' }),
    answer: Type.Optional(
      Type.Union([Type.String({ maxLength: FEEDBACK_LIMITS.answerCharacters }), Type.Null()], {
        description: 'What was answered; null where it was withheld.',
      }),
    ),
    expected: Type.Optional(
      Type.Array(nonBlank(FEEDBACK_LIMITS.expectedCharacters, 'A right answer.'), { minItems: 1, maxItems: FEEDBACK_LIMITS.expected }),
    ),
    comment: Type.Optional(Type.String({ maxLength: FEEDBACK_LIMITS.commentCharacters })),
  },
  { additionalProperties: false },
)

/** POST /v1/answers/:id/feedback: what somebody with a key says of an answer, kept as a line that evaluation reads as a question. */
export const feedbackRoute: FastifyPluginAsyncTypebox<FeedbackOptions> = (app, { file, maxBytes }) => {
  const log = file === undefined ? undefined : new FeedbackLog({ file, maxBytes })
  app.post(
    '/v1/answers/:id/feedback',
    {
      onRequest: async (request) => {
        if (log === undefined) throw new CodedError('forbidden', 'Feedback is not kept here: set CEPE_FEEDBACK to a file.')
        await app.needKey(request, 'a')
      },
      schema: {
        tags: ['questions'],
        operationId: 'sendFeedback',
        summary: 'Say whether an answer was right',
        params: ParamsSchema,
        body: BodySchema,
        response: { 200: Type.Object({ id: Type.String(), stored: Type.Boolean() }), ...bodyErrorResponses(401, 403, 507) },
      },
    },
    async ({ params: { id }, body, holder }) => {
      const { question, correct, answer = null, expected, comment } = body
      const answers = expected ?? (correct && answer ? [answer] : [])
      const about = { at: new Date().toISOString(), key: holder?.name, correct, answer, ...(comment !== undefined && { comment }) }
      await log?.add({ id, question, answers, feedback: about })
      return { id, stored: true }
    },
  )
  return Promise.resolve()
}
