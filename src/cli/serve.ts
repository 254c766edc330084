import { Command } from 'commander'
import type { Config } from '../settings.ts'
import { wholeNumber } from './program/options.ts'
import { loadConfig } from './program/run-program.ts'
import { say } from './program/shown.ts'
import type { startService } from './service.ts'

/** `cepe serve`: the HTTP service. */
export function serveCommand(): Command {
  return new Command('serve')
    .description('serve the HTTP API; first builds missing models and the demo index')
    .option('--host <address>', 'address to listen on')
    .option('--port <number>', 'port to listen on; 0 takes a free one', wholeNumber({ max: 65535 }))
    .action(async (options: { host?: string; port?: number }) => {
      const config = await loadConfig({ HOST: options.host, PORT: options.port })
      const { checkAddress, checkExposure } = await import('./address.ts')
      await checkExposure(config)
      await checkAddress(config.HOST, config.PORT)
      // Loading the rest of the program takes a second: quick checks come first.
      const { startService: start } = await import('./service.ts')
      say(startMessage(await start(config), config))
    })
}

/** The message of a started service: its address, what it serves, and a command that works now. */
export function startMessage(
  { address, hasPassages, needsKey }: Awaited<ReturnType<typeof startService>>,
  { ROLE: role }: Pick<Config, 'ROLE'>,
): string {
  const doing = role === 'indexer' ? 'Accepting jobs and changes' : 'Answering questions'
  const question = `curl -s ${address}/v1/answer -H 'content-type: application/json' -d '{"question": "what is the capital of australia"}'`
  const example =
    role === 'indexer'
      ? `curl -s ${address}/v1/admin/index -H "authorization: Bearer $CEPE_ADMIN_KEY"`
      : hasPassages
        ? `${question}${needsKey ? ' -H "authorization: Bearer $CEPE_KEY"' : ''}`
        : role === 'replica'
          ? `curl -s ${address}/readyz`
          : 'npx cepe index add <file or folder>'
  return `\n${doing} at ${address} (documentation: ${address}/docs). Try:\n\n  ${example}\n`
}
