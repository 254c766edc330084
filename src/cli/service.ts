import closeWithGrace from 'close-with-grace'
import { buildApp } from '../app.ts'
import { withParts } from '../service/parts.ts'
import { packageVersion } from '../package.ts'
import { createLog } from '../service/log.ts'
import { openService, type Services } from '../service/services.ts'
import type { Log } from '../inference/log.ts'
import type { Config } from '../settings.ts'
import { ensureArtefacts } from '../service/setup.ts'
import { listen } from './address.ts'
import { createProgress } from './program/progress.ts'

/** Time limit for closing after running requests have finished; then the process exits. */
const HARD_END_MS = 10_000

/** Builds what is missing, starts the service, and handles its graceful shutdown. @returns its address, and what it can answer */
export function startService(config: Config) {
  const { HOST: host, PORT: port, DRAIN_MS: drainMs } = config
  const log = createLog(config)
  const { logger } = log
  const write: Log = (level, message) => logger[level](message)
  return withParts(async (parts) => {
    parts.add(log)
    await ensureArtefacts(config, createProgress, write)
    const services = parts.add(await openService(config, write))
    const app = await buildApp(services, config, packageVersion(), logger)
    parts.add({ close: () => app.close() })
    await services.jobs.start()
    const address = await listen(app, host, port)
    closeWithGrace({ delay: drainMs + HARD_END_MS, logger }, async ({ err }) => {
      if (err) logger.error(err)
      await shutDown(app, services, drainMs)
      await log.close()
    })
    const { passages } = await services.index.version().catch(() => ({ passages: 0 }))
    return { address, hasPassages: passages > 0, needsKey: services.keys.required }
  })
}

/**
 * Graceful shutdown: running requests have up to `drainMs`, the rest gets 503, then everything is closed. One part's error stops no other.
 * @throws the first error, after all have been closed
 */
export async function shutDown(
  app: Pick<Awaited<ReturnType<typeof buildApp>>, 'drain' | 'close'>,
  services: Pick<Services, 'jobs' | 'close'>,
  drainMs: number,
): Promise<void> {
  await allEnded([
    // A bulk job stops after its batch and resumes at the next start, so it is not waited for.
    services.jobs.close(),
    app.drain(drainMs).then(() => allEnded([services.close({ drainMs: 0 }), Promise.resolve(app.close())])),
  ])
}

async function allEnded(ends: readonly Promise<unknown>[]): Promise<void> {
  for (const end of await Promise.allSettled(ends)) if (end.status === 'rejected') throw end.reason
}
