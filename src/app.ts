import rateLimit from '@fastify/rate-limit'
import { TypeBoxValidatorCompiler, type TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import fastify, { type FastifyBaseLogger, type FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import type { Config } from './config.ts'
import { adminGuard } from './http/plugins/auth.ts'
import { registerDocs } from './http/plugins/docs.ts'
import { registerErrors, sendError } from './http/plugins/errors.ts'
import { drain } from './http/plugins/drain.ts'
import { headers, requestId } from './http/plugins/headers.ts'
import { adminIndexJobs } from './http/routes/admin-index-jobs.ts'
import { adminPassages } from './http/routes/admin-passages.ts'
import { adminIndex } from './http/routes/admin-index.ts'
import { answerRoute } from './http/routes/answer.ts'
import { healthRoutes } from './http/routes/health.ts'
import { infoRoute } from './http/routes/info.ts'
import { metrics } from './http/routes/metrics.ts'
import { openAiRoutes } from './http/routes/openai.ts'
import { pageRoutes } from './http/routes/page.ts'
import { passages } from './http/routes/passages.ts'
import { scoreRoute } from './http/routes/score.ts'
import { searchRoute } from './http/routes/search.ts'
import { createLog } from './log.ts'
import type { Services } from './services.ts'

/** A passage id of 512 bytes, percent-encoded. */
const MAX_PATH_PARAMETER = 3 * 512

/** The HTTP application over constructed services; it neither listens nor closes them. */
export async function buildApp(
  services: Services,
  config: Config,
  version: string,
  logger: Logger = createLog(config).logger,
): Promise<FastifyInstance> {
  const log: FastifyBaseLogger = logger
  const app = fastify({
    loggerInstance: log,
    bodyLimit: config.BODY_LIMIT_KB * 1024,
    genReqId: requestId,
    requestIdHeader: false,
    routerOptions: { maxParamLength: MAX_PATH_PARAMETER },
    frameworkErrors: (error, request, reply) => {
      sendError(error, request, reply)
    },
    forceCloseConnections: 'idle',
    // The drain says it in the documented shape.
    return503OnClosing: false,
  })
    .setValidatorCompiler(TypeBoxValidatorCompiler)
    .withTypeProvider<TypeBoxTypeProvider>()

  registerErrors(app)
  await app.register(headers)
  await app.register(drain)
  await registerDocs(app, version)
  if (config.RATE_LIMIT > 0)
    await app.register(rateLimit, {
      max: config.RATE_LIMIT,
      timeWindow: '1 minute',
      allowList: (request) => request.url === '/healthz' || request.url === '/readyz',
    })
  const questions = { services: services.answering, deadlineMs: config.DEADLINE_MS }
  await app.register(metrics, { processes: services.processes, jobs: services.jobs })
  await app.register(healthRoutes, { readiness: services.readiness })
  await app.register(infoRoute, { ...questions, version })
  await app.register(pageRoutes)
  await app.register(answerRoute, questions)
  await app.register(searchRoute, questions)
  await app.register(scoreRoute, questions)
  await app.register(openAiRoutes, { ...questions, countTokens: services.countTokens })
  const { index, jobs, embedder } = services
  const requireAdmin = adminGuard(config.ADMIN_KEY)
  await app.register(passages, { index, embedder, requireAdmin })
  await app.register(adminPassages, { index, requireAdmin })
  await app.register(adminIndex, { index, requireAdmin })
  await app.register(adminIndexJobs, { jobs, requireAdmin })
  return app
}
