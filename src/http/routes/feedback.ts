import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import pLimit from 'p-limit'
import { CodedError } from '../../../base/errors.ts'
import { CollectionNameSchema } from '../../../index/table-name.ts'
import { closed, nonBlank, optionalOrNull } from '../../text/fields.ts'
import { LIMITS } from '../../rag/limits.ts'
import { errorResponses } from '../errors/error-body.ts'
import type { Routes } from './context.ts'
import { appendLine, openPrivate } from '../../../base/durable.ts'

const ParamsSchema = Type.Object({
  id: Type.String({ pattern: '^[A-Za-z0-9._:-]{1,128}$', description: 'The x-request-id of the answer.' }),
})
const BodySchema = closed({
  question: nonBlank(LIMITS.questionCharacters, 'The question of the answer.'),
  collection: Type.Optional(CollectionNameSchema),
  correct: Type.Boolean({ description: 'Whether the answer is right.' }),
  answer: optionalOrNull(Type.String({ maxLength: 4096 }), 'The answer that was given; null if it was withheld.'),
  expected: Type.Optional(Type.Array(nonBlank(1000, 'A right answer.'), { minItems: 1, maxItems: 16 })),
  comment: Type.Optional(Type.String({ maxLength: 2000 })),
})

/** POST /v1/answers/:id/feedback: stores a user's rating of an answer, in a format that evaluation can read. */
export const feedbackRoutes: Routes = (app, { config, access }) => {
  const log = config.FEEDBACK === undefined ? undefined : feedbackLog(config.FEEDBACK, config.FEEDBACK_MB * 2 ** 20)
  const onRequest = async (request: FastifyRequest) => {
    if (log === undefined) throw new CodedError('forbidden', 'Feedback is not kept here: set CEPE_FEEDBACK to a file.')
    await app.needKey(request, 'a')
  }
  const schema = {
    tags: ['questions'],
    operationId: 'sendFeedback',
    summary: 'Send feedback on an answer',
    params: ParamsSchema,
    body: BodySchema,
    response: { 200: Type.Object({ id: Type.String(), stored: Type.Boolean() }), ...errorResponses(401, 403, 404, 507) },
  }
  app.post('/v1/answers/:id/feedback', { onRequest, schema }, async (request) => {
    const { params, body, holder } = request
    const { id } = params
    const { question, collection, correct, answer = null, expected = [], comment } = body
    const answers = [...new Set(correct && answer ? [answer, ...expected] : expected)]
    const { table } = await access.index(request, collection)
    const judgement = { correct, answer, ...(comment !== undefined && { comment }) }
    await log?.({ id, question, answers, feedback: { at: new Date().toISOString(), key: holder?.name, collection: table, ...judgement } })
    return { id, stored: true }
  })
}

/**
 * An append-only file of JSON lines with a size limit.
 * @returns appends a line, in order; durable when it resolves. @throws disk_full at the file's limit or on a full disk, internal
 */
function feedbackLog(path: string, maxBytes: number): (line: object) => Promise<void> {
  const append = async (line: string): Promise<void> => {
    await using file = await openPrivate(path)
    if ((await file.stat()).size + Buffer.byteLength(line) >= maxBytes)
      throw new CodedError('disk_full', 'The file of feedback is full: move it away (CEPE_FEEDBACK), or raise CEPE_FEEDBACK_MB.')
    await appendLine(file, line)
  }
  const inTurn = pLimit(1)
  return (line) => inTurn(() => append(JSON.stringify(line)))
}
