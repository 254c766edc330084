import closeWithGrace from 'close-with-grace'
import { buildApp } from '../app.ts'
import { withDisposer } from '../service/disposer.ts'
import { packageVersion } from '../config.ts'
import { createLog } from '../service/log.ts'
import { createServices } from '../service/services.ts'
import type { Log } from '../inference/log.ts'
import type { Config } from '../settings.ts'
import { ensureArtefacts } from '../service/setup.ts'
import { shutDown } from '../service/shut-down.ts'
import { cannotListen } from './address.ts'
import { createProgress } from './program/progress.ts'

/** Time limit for closing after running requests have finished; then the process exits. */
const HARD_END_MS = 10_000

/** Builds what is missing, starts the service, and handles its graceful shutdown. @returns its address */
export function startService(config: Config): Promise<string> {
  const { HOST: host, PORT: port, DRAIN_MS: drainMs } = config
  const log = createLog(config)
  const { logger } = log
  const write: Log = (level, message) => logger[level](message)
  return withDisposer(async (disposer) => {
    disposer.add(() => log.close())
    await ensureArtefacts(config, createProgress, write)
    const services = await createServices(config, write)
    disposer.add(() => services.close({ drainMs: 0 }))
    const app = await buildApp(services, config, packageVersion(), logger)
    disposer.add(() => app.close())
    await services.jobs.start()
    const address = await app.listen({ host, port }).catch((error: unknown) => {
      throw cannotListen(error, host, port)
    })
    closeWithGrace({ delay: drainMs + HARD_END_MS, logger }, async ({ err }) => {
      if (err) logger.error(err)
      await shutDown(app, services, drainMs)
      await log.close()
    })
    return address
  })
}
