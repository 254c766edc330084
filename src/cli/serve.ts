import closeWithGrace from 'close-with-grace'
import { Command } from 'commander'
import { buildApp, createLogger } from '../app.ts'
import { loadConfig, packageVersion } from '../config.ts'
import { createServices } from '../services.ts'
import { ensureArtefacts } from '../setup.ts'
import { createProgress } from './progress.ts'

/** Time that running requests have to finish after a signal. */
const DRAIN_MS = 30_000

export function serveCommand(): Command {
  return new Command('serve')
    .description('serve the HTTP API; builds the models and the demo index first where they are missing')
    .option('--host <address>', 'address to listen on')
    .option('--port <number>', 'port to listen on; 0 takes a free one')
    .action(async (options: { host?: string; port?: string }) => {
      const config = loadConfig({ HOST: options.host, PORT: options.port })
      await ensureArtefacts(config, createProgress)
      const logger = createLogger(config)
      const services = await createServices(config, (level, message) => logger[level](message))
      const app = await buildApp(services, config, packageVersion(), logger)
      closeWithGrace({ delay: DRAIN_MS, logger: app.log }, async ({ err }) => {
        if (err) app.log.error(err)
        await app.close()
        await services.close()
      })
      await services.jobs.start()
      const address = await app.listen({ host: config.HOST, port: config.PORT })
      process.stderr.write(`
Answering questions at ${address} (documentation: ${address}/docs). Try:

  curl -s ${address}/v1/answer -H 'content-type: application/json' -d '{"question": "what is the capital of australia"}'

`)
    })
}
