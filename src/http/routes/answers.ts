import type { FastifyRequest } from 'fastify'
import { Compile } from 'typebox/compile'
import { Type } from 'typebox'
import { CodedError, messageOf } from '../../../base/errors.ts'
import { answerBatch, BATCH_AT_ONCE, type Outcome } from '../../rag/batch.ts'
import { AnswerRequestSchema, AnswerResponseSchema } from '../../rag/schema.ts'
import { closed } from '../../text/fields.ts'
import { runOptions, weightOf } from '../request/run-options.ts'
import { ErrorBodySchema } from '../errors/error-body.ts'
import { parseLine, readQuestion, utf8Body } from '../request/read-question.ts'
import { streamResponse } from '../request/stream-response.ts'
import { errorBody, reportError } from '../errors/describe-error.ts'
import type { Routes } from './context.ts'

const BATCH_QUESTIONS = 1000
const JSON_TYPE = 'application/json'
const NDJSON_TYPE = 'application/x-ndjson'

const bounds = { minItems: 1, maxItems: BATCH_QUESTIONS }
export const BatchSchema = closed({
  questions: Type.Array(AnswerRequestSchema, { ...bounds, description: 'Questions, each with the fields of POST /v1/answer.' }),
})
const LINES = { type: 'string', description: 'One question per line, each with the fields of POST /v1/answer.' }
const TAKES = {
  checksItems: true,
  accepts: [JSON_TYPE, NDJSON_TYPE],
  documentedBody: { content: { [JSON_TYPE]: { schema: BatchSchema }, [NDJSON_TYPE]: { schema: LINES } } },
}
/** Schema of the envelope: each question is validated separately and fails alone. */
const envelope = Compile(closed({ questions: Type.Array(Type.Unknown(), bounds) }))

export const BatchItemSchema = Type.Object(
  {
    index: Type.Integer({ minimum: 0, description: 'Index of the question in the request.' }),
    status: Type.Integer({ description: 'HTTP status that POST /v1/answer would return.' }),
    result: Type.Optional(AnswerResponseSchema),
    error: Type.Optional(ErrorBodySchema.properties.error),
  },
  { title: 'BatchItem' },
)

/** POST /v1/answers: answers a batch of questions and streams the results in order. */
export const answersRoutes: Routes = (app, { access, config }) => {
  app.addContentTypeParser(NDJSON_TYPE, { parseAs: 'buffer' }, (request, body, done) =>
    done(null, { questions: linesOf(utf8Body(body, request)) }),
  )
  const validatorCompiler = () => (value: unknown) =>
    envelope.Check(value) ? { value } : { error: envelope.Errors(value) as unknown as Error }
  const schema = {
    tags: ['questions'],
    operationId: 'answerMany',
    summary: 'Answer many questions',
    description: `Up to ${BATCH_QUESTIONS} questions, ${BATCH_AT_ONCE} at a time. A failed question has a status and an error in its item. Accepts and returns JSON or JSON lines (${NDJSON_TYPE}).`,
    body: BatchSchema,
    response: { 200: Type.Object({ results: Type.Array(BatchItemSchema) }, { description: 'One item per question, in request order.' }) },
  }
  app.post('/v1/answers', { config: TAKES, validatorCompiler, schema }, async (request, reply) => {
    const run = runOptions(request, reply, config.DEADLINE_MS)
    const questions: readonly unknown[] = request.body.questions
    const outcomes = answerBatch(
      questions.map((question) => () => {
        if (question instanceof CodedError) throw question
        return readQuestion(question)
      }),
      { services: access.answering(request), run, batchMs: config.BATCH_DEADLINE_MS },
    )
    const items = itemsOf(outcomes, request)
    const [type, parts] = wantsLines(request) ? [NDJSON_TYPE, lines(items)] : [JSON_TYPE, oneObject(items)]
    await streamResponse(reply, type, parts)
    return reply
  })
}

/** The questions of JSON lines, with the error of an invalid line. Skips blank lines. */
function linesOf(body: string): unknown[] {
  return body.split('\n').flatMap((line, i) => {
    if (line.trim() === '') return []
    try {
      return [parseLine(line.trim())]
    } catch (error) {
      return [new CodedError('invalid_request', `Line ${i + 1}: ${messageOf(error)}`)]
    }
  })
}

/** Whether to respond with JSON lines: if `Accept` prefers them; by default in the format of the request. */
function wantsLines({ headers: { accept = '', 'content-type': type = '' } }: FastifyRequest): boolean {
  const [lines, json] = [weightOf(accept, NDJSON_TYPE), weightOf(accept, JSON_TYPE) ?? 0]
  return lines !== undefined ? lines > 0 && lines >= json : json === 0 && type.toLowerCase().startsWith(NDJSON_TYPE)
}

async function* itemsOf(outcomes: AsyncGenerator<Outcome, void, undefined>, request: FastifyRequest) {
  let index = 0
  for await (const outcome of outcomes) {
    if ('result' in outcome) yield JSON.stringify({ index, status: 200, result: outcome.result })
    else {
      const described = reportError(outcome.error, request)
      yield JSON.stringify({ index, status: described.status, ...errorBody(described, request) })
    }
    index++
  }
}

async function* lines(items: AsyncGenerator<string, void, undefined>): AsyncGenerator<string, void, undefined> {
  for await (const item of items) yield `${item}\n`
}

async function* oneObject(items: AsyncGenerator<string, void, undefined>): AsyncGenerator<string, void, undefined> {
  let between = '{"results":['
  for await (const item of items) {
    yield `${between}${item}`
    between = ','
  }
  yield ']}\n'
}
