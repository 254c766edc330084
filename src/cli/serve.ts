import closeWithGrace from 'close-with-grace'
import { Command } from 'commander'
import { buildApp } from '../app.ts'
import { startWhole } from '../closing.ts'
import { loadConfig, packageVersion } from '../config.ts'
import type { Config } from '../settings.ts'
import { createLog } from '../log.ts'
import { createServices } from '../services.ts'
import { ensureArtefacts } from '../setup.ts'
import { shutDown } from '../shut-down.ts'
import { cannotListen, checkAddress } from './address.ts'
import { checkExposure } from './exposure.ts'
import { createProgress } from './progress.ts'

/** Time for closing everything once running requests had theirs; then the process ends, whatever hangs. */
const HARD_END_MS = 10_000

export function serveCommand(): Command {
  return new Command('serve')
    .description('serve the HTTP API; builds the models and the demo index first where they are missing')
    .option('--host <address>', 'address to listen on')
    .option('--port <number>', 'port to listen on; 0 takes a free one')
    .action(async (options: { host?: string; port?: string }) => {
      const config = loadConfig({ HOST: options.host, PORT: options.port })
      await checkExposure(config)
      await checkAddress(config.HOST, config.PORT)
      await ensureArtefacts(config, createProgress)
      const address = await serve(config)
      process.stderr.write(`
Answering questions at ${address} (documentation: ${address}/docs). Try:

  curl -s ${address}/v1/answer -H 'content-type: application/json' -d '{"question": "what is the capital of australia"}'

`)
    })
}

/** Starts the service, and sees to its end at a signal. @returns its address */
function serve(config: Config): Promise<string> {
  const { HOST: host, PORT: port, DRAIN_MS: drainMs } = config
  const log = createLog(config)
  const { logger } = log
  return startWhole(async (closing) => {
    const services = await createServices(config, (level, message) => logger[level](message))
    closing.add(() => services.close({ drainMs: 0 }))
    const app = await buildApp(services, config, packageVersion(), logger)
    closing.add(() => app.close())
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
