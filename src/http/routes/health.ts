import { Type } from 'typebox'
import { ReadinessCheckSchema, type Routes } from './context.ts'

const RETRY_AFTER_S = 5
const ReadySchema = Type.Object({ ready: Type.Boolean(), checks: Type.Array(ReadinessCheckSchema) }, { title: 'Readiness' })

/** GET /healthz: liveness. GET /readyz: readiness to answer questions. */
export const healthRoutes: Routes = (app, { services }) => {
  const tags = ['operations']
  const live = { 200: Type.Object({ status: Type.Literal('ok'), uptime_s: Type.Number() }) }
  const alive = { tags, operationId: 'getHealth', summary: 'Liveness', response: live }
  app.get('/healthz', { schema: alive, logLevel: 'warn' }, () => ({ status: 'ok' as const, uptime_s: Math.round(process.uptime()) }))

  const response = { 200: ReadySchema, 503: ReadySchema }
  const ready = { tags, operationId: 'getReadiness', summary: 'Readiness', response }
  app.get('/readyz', { schema: ready, logLevel: 'warn' }, async (_request, reply) => {
    const checks = (await services.readiness()).map(({ name, ok, detail }) => ({ name, ok, detail: app.publicText(detail) }))
    const ready = checks.every((check) => check.ok)
    if (!ready) void reply.header('retry-after', String(RETRY_AFTER_S))
    return reply.code(ready ? 200 : 503).send({ ready, checks })
  })
}
