import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { randomUUID } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { Type } from 'typebox'
import { type ModelManifest, modelId } from '../../../../models/manifest.ts'
import { invalidField } from '../../../../base/errors.ts'
import { answerQuestion } from '../../../rag/answer.ts'
import { answerEvents } from '../../../rag/answer-events.ts'
import type { ChatQuestion } from '../../../rag/schema.ts'
import type { Retriever } from '../../../rag/retrieve.ts'
import type { Embedder } from '../../../inference/contract.ts'
import { observed } from '../../../inference/observer.ts'
import { sendEvents, serverEvent } from '../../request/stream-response.ts'
import type { App, RouteContext, Routes } from '../context.ts'
import { READER_ALIAS, isNamed, isReader, allEmbedders, servingEmbedder } from '../../observability/models.ts'
import { type Named, toAnswerRequest, toChunks, toCompletion } from './chat.ts'
import { passageAddress } from './citations.ts'
import { runOptions } from '../../request/run-options.ts'
import { setIgnoredHeader, unread } from '../../request/unread.ts'
import { ignoredIn } from './question.ts'
import { answered, ignoredOf, toQuestion, toResponseEvents } from './responses.ts'
import {
  ResponsesRequestSchema,
  ResponsesResponseSchema,
  ChatRequestSchema,
  ChatResponseSchema,
  type EmbeddingsRequest,
  EmbeddingsRequestSchema,
  EmbeddingsResponseSchema,
  ModelListSchema,
  ModelSchema,
  OPENAI_LIMITS,
} from './schema.ts'
import { UnknownModelError, openAiErrorBody, openAiErrorResponses } from './errors.ts'
import { reportError, errorSender } from '../../errors/describe-error.ts'

/** Of any route; 417 and 431 are sent before a route is known. */
const EVERYWHERE = [400, 401, 421, 429, 500, 503]
const STATUSES = [...EVERYWHERE, 403, 404, 408, 413, 415, 422, 504]
const tags = ['openai']

/** OpenAI-compatible routes: chat completions and responses from the corpus, embeddings of the retrievers, models. */
export const openAiRoutes: Routes = (app, context) => {
  const { reader, reranker, retriever } = context.services.answering
  app.setErrorHandler(errorSender(openAiErrorBody))
  const loaded = [reader, ...allEmbedders(retriever), ...(reranker ? [reranker] : [])]
  const described = loaded.map(({ manifest }) => describeModel(manifest))
  modelRoutes(app, described)
  chatRoute(app, context)
  responsesRoute(app, context)
  embeddingsRoute(app, context)
}

function modelRoutes(app: App, models: readonly ReturnType<typeof describeModel>[]): void {
  const list = {
    tags,
    operationId: 'listModels',
    summary: 'List models',
    response: { 200: ModelListSchema, ...openAiErrorResponses(...EVERYWHERE) },
  }
  app.get('/v1/models', { schema: list }, () => ({ object: 'list' as const, data: [...models] }))

  const one = {
    tags,
    operationId: 'getModel',
    summary: 'Get a model',
    params: Type.Object({ id: Type.String({ minLength: 1, maxLength: 512 }) }),
    response: { 200: ModelSchema, ...openAiErrorResponses(...EVERYWHERE, 404) },
  }
  app.get('/v1/models/:id', { schema: one }, ({ params: { id } }) => {
    const [reader] = models
    const found = models.find((model) => isNamed(id, model.id)) ?? (id === READER_ALIAS ? reader : undefined)
    if (found === undefined) throw new UnknownModelError(id)
    return found
  })
}

/** Template, model check and identity shared by chat completions and responses. */
function naming({ services: { answering, keys }, access, config }: RouteContext) {
  const model = modelId(answering.reader.manifest)
  return {
    template: answering.chatRouteTemplate ?? answering.chatTemplate ?? 'none',
    /** @throws UnknownModelError */
    begin: (request: FastifyRequest, reply: FastifyReply, wanted: string) => {
      if (!isReader(wanted, model)) throw new UnknownModelError(wanted)
      return { run: runOptions(request, reply, config.DEADLINE_MS), services: access.answering(request) }
    },
    named: (
      reply: FastifyReply,
      { collection, grammar }: ChatQuestion,
      own: Pick<Named, 'id' | 'ignored'>,
      wanted = config.CHAT_SOURCES,
    ): Named => {
      setIgnoredHeader(reply, own.ignored)
      return {
        ...own,
        isFormed: grammar !== undefined,
        // An appended list would make the JSON invalid.
        sources: wanted && grammar === undefined,
        created: Math.floor(Date.now() / 1000),
        model,
        addressOf: passageAddress(reply.request, config, !keys.required, collection ?? access.implied(reply.request)),
      }
    },
  }
}

function chatRoute(app: App, context: RouteContext): void {
  const { template, begin, named } = naming(context)
  const schema = {
    tags,
    operationId: 'createChatCompletion',
    summary: 'Answer the last question of a chat from the corpus (OpenAI-compatible)',
    body: ChatRequestSchema,
    response: { 200: ChatResponseSchema, ...openAiErrorResponses(...STATUSES) },
  }
  app.post('/v1/chat/completions', { schema }, async (request, reply) => {
    const { body } = request
    const { run, services } = begin(request, reply, body.model)
    const question = toAnswerRequest(body, template)
    const ignored = [...unread(body, ChatRequestSchema), ...ignoredIn(question, body.messages, 'messages')]
    const own = named(reply, question, { id: `chatcmpl-${randomUUID()}`, ignored }, body.cepe?.sources)
    if (body.stream !== true) return toCompletion(await answerQuestion(question, services, run), own)
    const includeUsage = body.stream_options?.include_usage === true
    return sendEvents(reply, {
      events: closed(toChunks(answerEvents(question, services, run), { ...own, includeUsage })),
      format: serverEvent,
      failed: (error) => serverEvent(JSON.stringify(failure(error, request))),
    })
  })
}

function responsesRoute(app: App, context: RouteContext): void {
  const { template, begin, named } = naming(context)
  const schema = {
    tags,
    operationId: 'createResponse',
    summary: 'Answer a question from the corpus (OpenAI-compatible responses; nothing is stored)',
    body: ResponsesRequestSchema,
    response: { 200: ResponsesResponseSchema, ...openAiErrorResponses(...STATUSES) },
  }
  app.post('/v1/responses', { schema }, async (request, reply) => {
    const { body } = request
    const { run, services } = begin(request, reply, body.model)
    const question = toQuestion(body, template)
    const ignored = [...unread(body, ResponsesRequestSchema), ...ignoredOf(body, question)]
    const own = named(reply, question, { id: `resp_${randomUUID()}`, ignored }, body.cepe?.sources)
    if (body.stream !== true) return answered(await answerQuestion(question, services, run), own, body)
    let number = 0
    return sendEvents(reply, {
      events: toResponseEvents(answerEvents(question, services, run), own, body),
      format: (event) => serverEvent(JSON.stringify({ ...event, sequence_number: number++ }), event.type),
      failed: (error) => {
        const { error: sentError } = failure(error, request)
        const { code, message, param } = sentError
        // OpenAI's error event has the fields at the top level; its client raises the content of `error`.
        return serverEvent(JSON.stringify({ type: 'error', code, message, param, error: sentError }), 'error')
      },
    })
  })
}

function embeddingsRoute(app: App, { services, config }: RouteContext): void {
  const { retriever } = services.answering
  const schema = {
    tags,
    operationId: 'createEmbeddings',
    summary: 'Embed texts with the retriever (OpenAI-compatible)',
    body: EmbeddingsRequestSchema,
    response: { 200: EmbeddingsResponseSchema, ...openAiErrorResponses(...STATUSES) },
  }
  app.post('/v1/embeddings', { schema }, async (request, reply) => {
    const { model, input, encoding_format, dimensions, truncate } = request.body
    setIgnoredHeader(reply, unread(request.body, EmbeddingsRequestSchema))
    const embedder = await namedEmbedder(model, retriever)
    const { manifest } = embedder
    const { hidden_size: own, window } = manifest.dims
    if (typeof dimensions === 'number' && dimensions !== own)
      throw invalidField('dimensions', `is ${dimensions}; this model has ${own}, and no others`)
    const texts = textsOf(input)
    let tokens = 0
    for (const [i, text] of texts.entries()) {
      const count = services.countTokens(text, modelId(manifest))
      if (count > window && truncate !== true)
        throw invalidField(inputName(input, i), `has more than the ${window} tokens that the model reads: ${SHORTER}`)
      tokens += Math.min(count, window)
      // Counting takes up to a millisecond per text.
      await setImmediate()
    }
    const priority = texts.length === 1 ? 'question' : 'bulk'
    const run = runOptions(request, reply, config.DEADLINE_MS)
    const vectors = await observed(run.observe, 'embed', () => embedder.embed(texts, { ...run, priority }))
    return {
      object: 'list' as const,
      data: vectors.map((vector, index) => ({
        object: 'embedding' as const,
        index,
        embedding:
          encoding_format === 'base64'
            ? Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength).toString('base64')
            : Array.from(vector),
      })),
      model: modelId(manifest),
      usage: { prompt_tokens: tokens, total_tokens: tokens },
    }
  })
}

/** Finds a retriever by name. A name without revision prefers the one that serves questions. @throws UnknownModelError */
async function namedEmbedder(model: string, retriever: Retriever): Promise<Embedder> {
  const found = [await servingEmbedder(retriever), ...allEmbedders(retriever)].find(({ manifest }) => isNamed(model, modelId(manifest)))
  if (found === undefined) throw new UnknownModelError(model)
  return found
}

function describeModel(manifest: ModelManifest) {
  const created = Math.floor(Date.parse(manifest.built_at) / 1000)
  return { id: modelId(manifest), object: 'model' as const, created: Number.isFinite(created) ? created : 0, owned_by: 'cepe-qa' }
}

/** The body of an error within a stream, which is logged. */
function failure(error: unknown, request: FastifyRequest) {
  return openAiErrorBody(reportError(error, request), request, error as FastifyError)
}

/** Ends a stream as OpenAI's API does. */
async function* closed(chunks: AsyncGenerator<object, void, undefined>): AsyncGenerator<string, void, undefined> {
  for await (const chunk of chunks) yield JSON.stringify(chunk)
  yield '[DONE]'
}

function inputName(input: EmbeddingsRequest['input'], i: number): string {
  return Array.isArray(input) ? `input.${i}` : 'input'
}

const SHORTER = 'shorten or split it, or set truncate: true to embed its beginning'
const TOKEN_IDS = "holds token ids, which belong to another model's tokenizer: send text (in LangChain: check_embedding_ctx_length=False)"

/** Returns the texts of an embeddings request. @throws invalid_request for an invalid `input` */
function textsOf(input: EmbeddingsRequest['input']): string[] {
  const items: unknown[] = Array.isArray(input) ? input : [input]
  if (items.length === 0 || items.length > OPENAI_LIMITS.inputs)
    throw invalidField('input', `has ${items.length} texts; send 1 to ${OPENAI_LIMITS.inputs} at a time`)
  return items.map((item, i) => {
    const refuse = (problem: string) => invalidField(inputName(input, i), problem)
    if (typeof item === 'number' || (Array.isArray(item) && item.every((id) => typeof id === 'number'))) throw refuse(TOKEN_IDS)
    if (typeof item !== 'string') throw refuse('must be a text')
    if (item === '') throw refuse('is empty')
    if (Array.from(item).length > OPENAI_LIMITS.inputCharacters)
      throw refuse(`has too many characters; the most is ${OPENAI_LIMITS.inputCharacters}`)
    return item.normalize()
  })
}
