import * as snapshots from '../index/snapshots/snapshots.ts'
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import { type FastifyBaseLogger, type FastifyInstance, default as fastify } from 'fastify'
import type { Logger } from 'pino'
import { listed } from './config.ts'
import type { Config } from './settings.ts'
import { auth } from './http/auth/auth.ts'
import { bodyTimeout, jsonBodies } from './http/plugins/bodies.ts'
import { connections } from './http/plugins/connections.ts'
import { compression } from './http/plugins/compression.ts'
import { docs } from './http/plugins/docs.ts'
import { gracefulShutdown } from './http/plugins/graceful-shutdown.ts'
import { errorSender, errors } from './http/errors/describe-error.ts'
import { queries } from './http/plugins/queries.ts'
import { forwarded, rateLimit } from './http/plugins/rate-limit.ts'
import { cors, headers, letRead, requestId, setHeaders } from './http/plugins/headers.ts'
import { host } from './http/plugins/host.ts'
import { metrics } from './http/observability/metrics.ts'
import { observers } from './http/observability/observers.ts'
import { serializerCompiler, validatorCompiler } from './http/plugins/compilers.ts'
import { traces } from './http/observability/traces-plugin.ts'
import { unknownRoutes } from './http/plugins/unknown-routes.ts'
import { onceIn } from './http/idempotency/idempotency.ts'
import { publicText } from './http/errors/public-text.ts'
import { collectionAccess } from './http/request/collections.ts'
import { answerClientError } from './http/errors/raw-errors.ts'
import { adminIndexJobsRoutes } from './http/routes/admin/index-jobs.ts'
import { adminIndexRoutes, adminKeysRoutes, adminPassagesRoutes, adminSnapshotsRoutes } from './http/routes/admin/index.ts'
import { answerRoutes, searchRoutes } from './http/routes/answer.ts'
import { answersRoutes } from './http/routes/answers.ts'
import type { App, RouteContext, Routes } from './http/routes/context.ts'
import { collectionsRoutes } from './http/routes/collections.ts'
import { documentsRoutes } from './http/routes/documents.ts'
import { feedbackRoutes } from './http/routes/feedback.ts'
import { healthRoutes, infoRoutes } from './http/routes/info.ts'
import { openAiRoutes } from './http/routes/openai/routes.ts'
import { mcpRoutes } from './http/routes/mcp.ts'
import { pageRoutes } from './http/routes/page.ts'
import { browseRoutes } from './http/routes/passages/browse.ts'
import { passageFileRoutes, passagesRoutes } from './http/routes/passages/passages.ts'
import { rerankRoutes } from './http/routes/rerank.ts'
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
  const app = createServer(config, logger, origins)

  // Hooks for every route, in order.
  observers(app)
  await traces(app, config.TRACES_URL, version)
  headers(app)
  await cors(app, origins)
  errors(app, publicText(config))
  connections(app, config)
  await compression(app)
  jsonBodies(app)
  bodyTimeout(app, config)
  queries(app)
  gracefulShutdown(app)
  forwarded(app, config.TRUST_PROXY)
  await rateLimit(app, config.RATE_LIMIT)
  auth(app, services.keys, config)
  host(app, services.keys, config)
  unknownRoutes(app)
  await docs(app, version, config.BASE_PATH)
  metrics(app, services)

  const once = onceIn({ folder: (table) => answersFolder(config, { dir: services.index.dir, table }) })
  const access = collectionAccess(services.answering, services.collections)
  const context = { services, config, version, access, once, files: servedFiles(config), snapshots }
  await register(app, [healthRoutes, ...(config.ROLE === 'indexer' ? [] : QUESTIONS), ...COLLECTIONS], context)
  await app.register(async (admin) => {
    admin.addHook('onRequest', app.requireAdmin)
    await register(admin, ADMIN, context)
  })
  return app
}

const COLLECTIONS = [collectionsRoutes, upsertRoutes, passagesRoutes, browseRoutes, passageFileRoutes]
/** Routes that need a reader: an indexer has none of them. */
const QUESTIONS = [
  infoRoutes,
  pageRoutes,
  answerRoutes,
  answersRoutes,
  feedbackRoutes,
  searchRoutes,
  rerankRoutes,
  documentsRoutes,
  mcpRoutes,
  openAiRoutes,
]
const ADMIN = [adminPassagesRoutes, adminIndexRoutes, adminSnapshotsRoutes, adminKeysRoutes, adminIndexJobsRoutes]

/** Registers routes, each in a scope with its own parsers and hooks. */
async function register(app: App, all: readonly Routes[], context: RouteContext): Promise<void> {
  for (const routes of all) await app.register(async (scope) => routes(scope, context))
}

function createServer(config: Config, logger: Logger, origins: readonly string[]) {
  const log: FastifyBaseLogger = logger
  const sendError = errorSender()
  const app = fastify({
    loggerInstance: log,
    bodyLimit: config.BODY_LIMIT_KB * 1024,
    trustProxy: proxies(config.TRUST_PROXY),
    rewriteUrl: withoutBasePath(config.BASE_PATH),
    genReqId: requestId,
    requestIdHeader: false,
    routerOptions: { maxParamLength: MAX_PATH_PARAMETER, ignoreTrailingSlash: true },
    frameworkErrors: (error, request, reply) => {
      setHeaders(reply)
      letRead(reply, origins)
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
  return app
}

/** Returns which addresses of a request's path are proxies: hop 0 is the connection's own. */
function proxies(setting: string): boolean | string | ((address: string, hop: number) => boolean) {
  return setting === '' ? false : /^\d+$/.test(setting) ? (_address, hop) => hop < Number(setting) : setting
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
