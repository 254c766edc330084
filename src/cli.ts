#!/usr/bin/env node
import { Command, CommanderError } from 'commander'
import { askCommand } from './cli/ask.ts'
import { buildCommand } from './cli/build.ts'
import { indexCommand } from './cli/index.ts'
import { inspectCommand } from './cli/inspect.ts'
import { migrateCommand } from './cli/migrate.ts'
import { serveCommand } from './cli/serve.ts'
import { verifyCommand } from './cli/verify.ts'
import { packageVersion } from './config.ts'
import { CodedError, messageOf } from '../base/errors.ts'

/** Errors that are the user's to read are one line; anything else keeps its stack, since it is a bug. */
function report(thrown: unknown): void {
  if (thrown instanceof CommanderError) return
  const expected = thrown instanceof CodedError || (thrown instanceof Error && 'code' in thrown)
  process.stderr.write(`cepe: ${expected || !(thrown instanceof Error) ? messageOf(thrown) : (thrown.stack ?? thrown.message)}\n`)
}

const program = new Command('cepe')
  .description('Open-domain question answering over your own corpus with CEPE, Contriever and LanceDB.')
  .version(packageVersion())
  .showHelpAfterError('(see --help)')
  .addCommand(serveCommand())
  .addCommand(askCommand())
  .addCommand(indexCommand())
  .addCommand(buildCommand())
  .addCommand(verifyCommand())
  .addCommand(inspectCommand())
  .addCommand(migrateCommand())
  .command('eval', 'evaluate on open-domain QA datasets and compare runs', { executableFile: '../eval/cli.js' })

try {
  await program.parseAsync()
} catch (thrown) {
  report(thrown)
  process.exitCode = 1
}
