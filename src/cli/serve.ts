import { Command } from 'commander'
import type { Config } from '../settings.ts'
import { loadConfig } from './program/run-program.ts'

/** `cepe serve`: the HTTP service. */
export function serveCommand(): Command {
  return new Command('serve')
    .description('serve the HTTP API; first builds missing models and the demo index')
    .option('--host <address>', 'address to listen on')
    .option('--port <number>', 'port to listen on; 0 takes a free one')
    .action(async (options: { host?: string; port?: string }) => {
      const config = await loadConfig({ HOST: options.host, PORT: options.port })
      const { checkAddress, checkExposure } = await import('./address.ts')
      await checkExposure(config)
      await checkAddress(config.HOST, config.PORT)
      // Loading the rest of the program takes a second: quick checks come first.
      const { startService } = await import('./service.ts')
      process.stderr.write(welcome(await startService(config), config))
    })
}

/** The message of a started service: its address, and what it serves. */
export function welcome(address: string, { ROLE: role }: Pick<Config, 'ROLE'>): string {
  const [doing, example] =
    role === 'indexer'
      ? ['Accepting jobs and changes', `${address}/v1/admin/index -H "authorization: Bearer $CEPE_ADMIN_KEY"`]
      : [
          'Answering questions',
          `${address}/v1/answer -H 'content-type: application/json' -d '{"question": "what is the capital of australia"}'`,
        ]
  return `\n${doing} at ${address} (documentation: ${address}/docs). Try:\n\n  curl -s ${example}\n\n`
}
