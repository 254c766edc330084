import type { FastifyInstance } from 'fastify'
import type { Services } from './services.ts'

/** Ends the service in order: running requests are answered for `drainMs` at most, those left then get 503, then all is closed. */
export async function shutDown(app: FastifyInstance, services: Services, drainMs: number): Promise<void> {
  // A bulk job stops after its batch and goes on at the next start: there is no reason to wait with it.
  const jobs = services.jobs.close()
  await app.drain(drainMs)
  const closed = services.close({ drainMs: 0 })
  await app.close()
  await Promise.all([jobs, closed])
}
