import * as snapshots from '../index/snapshots/snapshots.ts'
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import { type FastifyBaseLogger, type FastifyInstance, default as fastify } from 'fastify'
import type { Logger } from 'pino'
import { listed } from './config.ts'
import type { Config } from './settings.ts'
import { auth } from './http/auth/auth.ts'
import { bodyTimeout } from './http/plugins/body-timeout.ts'
import { connections } from './http/plugins/connections.ts'
import { compression } from './http/plugins/compression.ts'
import { cors, letRead } from './http/plugins/cors.ts'
import { docs } from './http/plugins/docs.ts'
import { gracefulShutdown } from './http/plugins/graceful-shutdown.ts'
import { errorSender, errors } from './http/errors/plugin.ts'
import { forwarded, rateLimit } from './http/plugins/rate-limit.ts'
import { headers, requestId, setHeaders } from './http/plugins/headers.ts'
import { host } from './http/plugins/host.ts'
import { jsonBodies } from './http/plugins/json-bodies.ts'
import { metrics } from './http/observability/metrics.ts'
import { observers } from './http/observability/observers.ts'
import { serializerCompiler, validatorCompiler } from './http/plugins/compilers.ts'
import { traces } from './http/observability/traces-plugin.ts'
import { unknownRoutes } from './http/plugins/unknown-routes.ts'
import { StoredResponses, onceFor } from './http/idempotency/idempotency.ts'
import { publicText } from './http/errors/public-text.ts'
import { type CollectionAccess, collectionAccess } from './http/request/collections.ts'
import { corpusTexts } from './http/page/corpus-text.ts'
import { answerClientError, refuseExpectations } from './http/errors/raw-errors.ts'
import { adminIndexJobsRoutes } from './http/routes/admin/index-jobs.ts'
import { adminPassagesRoutes } from './http/routes/admin/passages.ts'
import { adminIndexRoutes, adminKeysRoutes } from './http/routes/admin/index.ts'
import { adminSnapshotsRoutes } from './http/routes/admin/snapshots.ts'
import { answerRoutes } from './http/routes/answer.ts'
import { answersRoutes } from './http/routes/answers.ts'
import { collectionsRoutes } from './http/routes/collections.ts'
import { documentsRoutes } from './http/routes/documents.ts'
import { feedbackRoutes } from './http/routes/feedback.ts'
import { healthRoutes } from './http/routes/health.ts'
import { infoRoutes } from './http/routes/info.ts'
import { openAiRoutes } from './http/routes/openai/routes.ts'
import { mcpRoutes } from './http/routes/mcp.ts'
import { pageRoutes } from './http/routes/page.ts'
import { browseRoutes } from './http/routes/passages/browse.ts'
import { passageFileRoutes } from './http/routes/passages/file.ts'
import { passagesRoutes } from './http/routes/passages/passages.ts'
import { rerankRoutes } from './http/routes/rerank.ts'
import { searchRoutes } from './http/routes/search.ts'
import { upsertRoutes } from './http/routes/passages/upsert.ts'
import { createLog } from './service/log.ts'
import type { Services } from './service/services.ts'
import { answersFolder, servedFiles } from './service/storage.ts'

/** A passage id of 512 bytes, percent-encoded. */
const MAX_PATH_PARAMETER = 3 * 512
/** Interval for checking connections for late headers. */
const CONNECTION_CHECK_MS = 1_000

/** Builds the HTTP application over constructed services; it neither listens nor closes them. */
export async function buildApp(
  services: Services,
  config: Config,
  version: string,
  logger: Logger = createLog(config).logger,
): Promise<FastifyInstance> {
  const origins = listed(config.CORS_ORIGINS)
  const sendError = errorSender()
  const app = createServer(config, logger, (error, request, reply) => {
    setHeaders(reply)
    letRead(reply, origins)
    return sendError(error, request, reply)
  })

  // Hooks for every route, in order.
  await app.register(observers)
  await app.register(traces, { url: config.TRACES_URL, version })
  await app.register(headers)
  await app.register(cors, { origins })
  await app.register(errors, { publicText: publicText(config) })
  await app.register(connections, { most: config.MAX_CONNECTIONS, proxied: config.TRUST_PROXY !== '' })
  await app.register(compression)
  await app.register(jsonBodies)
  await app.register(bodyTimeout, { bodyMs: config.REQUEST_TIMEOUT_MS, uploadIdleMs: config.UPLOAD_IDLE_MS })
  await app.register(gracefulShutdown)
  await app.register(forwarded, { trusted: config.TRUST_PROXY !== '' })
  await app.register(rateLimit, { perMinute: config.RATE_LIMIT })
  await app.register(auth, { keys: services.keys, adminKey: config.ADMIN_KEY, readOnly: config.ROLE === 'replica' })
  await app.register(host, { host: config.HOST, allowed: listed(config.ALLOWED_HOSTS), keys: services.keys })
  await app.register(unknownRoutes)
  await app.register(docs, { version, basePath: config.BASE_PATH })
  const { processes, keys, collections, newerTable } = services
  await app.register(metrics, { processes, retriever: services.answering.retriever, jobs: services.jobs, keys, collections, newerTable })

  const { jobs, embedder, further, readiness } = services
  const access = collectionAccess(services.answering, collections)
  await app.register(healthRoutes, { readiness })
  if (config.ROLE !== 'indexer') await registerQuestions(app, services, config, { access, version, origins })
  const once = onceFor(new StoredResponses({ folder: (table) => answersFolder(config, { dir: services.index.dir, table }) }))
  const changes = { access, embedder, ...(further && { further }), unreadTokens: services.unreadTokens, once }
  await app.register(collectionsRoutes, { collections, access })
  await app.register(upsertRoutes, changes)
  await app.register(passagesRoutes, changes)
  await app.register(browseRoutes, { access })
  await app.register(passageFileRoutes, { access, files: servedFiles(config) })
  await app.register(async (admin) => {
    admin.addHook('onRequest', app.requireAdmin)
    await admin.register(adminPassagesRoutes, { access })
    await admin.register(adminIndexRoutes, { access })
    await admin.register(adminSnapshotsRoutes, { snapshots, access })
    await admin.register(adminKeysRoutes, { keys, quotas: services.quotas })
    const { BASE_PATH: basePath, FETCH } = config
    await admin.register(adminIndexJobsRoutes, { access, jobs, fetchHosts: listed(FETCH), once, basePath })
  })
  return app
}

interface QuestionParts {
  readonly access: CollectionAccess
  readonly version: string
  readonly origins: string[]
}

/** Registers the routes that need a reader: an indexer has none of them. */
async function registerQuestions(
  app: FastifyInstance,
  services: Services,
  config: Config,
  { access, version, origins }: QuestionParts,
): Promise<void> {
  const { answering, index, newerTable } = services
  const questions = { services: answering, access, deadlineMs: config.DEADLINE_MS }
  const page = { title: config.PAGE_TITLE, about: config.PAGE_ABOUT, questions: config.PAGE_QUESTIONS }
  await app.register(infoRoutes, {
    ...questions,
    version,
    newerTable,
    corpusText: corpusTexts(page, index),
    feedback: config.FEEDBACK !== undefined,
    files: servedFiles(config) !== undefined,
  })
  await app.register(pageRoutes, { ...page, basePath: config.BASE_PATH })
  await app.register(answerRoutes, questions)
  await app.register(answersRoutes, { ...questions, batchDeadlineMs: config.BATCH_DEADLINE_MS })
  await app.register(feedbackRoutes, { file: config.FEEDBACK, maxBytes: config.FEEDBACK_MB * 2 ** 20, access })
  await app.register(searchRoutes, questions)
  await app.register(rerankRoutes, questions)
  await app.register(documentsRoutes, {
    ...services.documents,
    deadlineMs: config.DEADLINE_MS,
    maxFileBytes: config.DOCUMENT_MB * 2 ** 20,
  })
  await app.register(mcpRoutes, { ...questions, version, origins })
  await app.register(openAiRoutes, {
    ...questions,
    countTokens: services.countTokens,
    appendSources: config.CHAT_SOURCES,
    addresses: { basePath: config.BASE_PATH, publicUrl: config.PUBLIC_URL },
    keys: services.keys,
  })
}

/** Creates the server with its limits on time, size and connections. */
function createServer(config: Config, logger: Logger, sendError: ReturnType<typeof errorSender>) {
  const log: FastifyBaseLogger = logger
  const app = fastify({
    loggerInstance: log,
    bodyLimit: config.BODY_LIMIT_KB * 1024,
    trustProxy: proxies(config.TRUST_PROXY),
    rewriteUrl: withoutBasePath(config.BASE_PATH),
    genReqId: requestId,
    requestIdHeader: false,
    routerOptions: { maxParamLength: MAX_PATH_PARAMETER, ignoreTrailingSlash: true },
    frameworkErrors: (error, request, reply) => {
      sendError(error, request, reply)
    },
    clientErrorHandler: answerClientError,
    forceCloseConnections: 'idle',
    // Graceful shutdown and errors for a missing Host use the documented error body.
    return503OnClosing: false,
    http: {
      requireHostHeader: false,
      headersTimeout: config.REQUEST_TIMEOUT_MS,
      connectionsCheckingInterval: Math.min(CONNECTION_CHECK_MS, config.REQUEST_TIMEOUT_MS),
    },
  })
    .setValidatorCompiler(validatorCompiler)
    .setSerializerCompiler(serializerCompiler)
    .withTypeProvider<TypeBoxTypeProvider>()
  // JSON is the only accepted text; others are rejected like any other type.
  app.removeContentTypeParser('text/plain')
  refuseExpectations(app.server)
  return app
}

/** Returns which addresses of a request's path are proxies: hop 0 is the connection's own. */
function proxies(setting: string): boolean | string | ((address: string, hop: number) => boolean) {
  if (setting === '') return false
  return /^\d+$/.test(setting) ? (_address, hop) => hop < Number(setting) : setting
}

/** Returns the path for routing. A proxy may pass requests on with or without the base path; both work. */
function withoutBasePath(basePath: string): (request: { readonly url?: string | undefined }) => string {
  return ({ url = '/' }) => {
    if (basePath === '' || !url.startsWith(basePath)) return url
    const rest = url.slice(basePath.length)
    if (rest.startsWith('/')) return rest
    return rest === '' || rest.startsWith('?') ? `/${rest}` : url
  }
}
