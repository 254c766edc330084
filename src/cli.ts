#!/usr/bin/env node
import { Command } from 'commander'
import { askCommand } from './cli/ask.ts'
import { buildCommand } from './cli/build.ts'
import { embedWorkerCommand } from './cli/embed-worker.ts'
import { indexCommand } from './cli/index.ts'
import { inspectCommand } from './cli/inspect.ts'
import { keysCommand } from './cli/keys.ts'
import { migrateCommand } from './cli/migrate.ts'
import { pullCommand } from './cli/pull.ts'
import { readCommand } from './cli/read.ts'
import { runProgram } from './cli/run-program.ts'
import { serveCommand } from './cli/serve.ts'
import { verifyCommand } from './cli/verify.ts'
import { packageVersion } from './config.ts'

const program = new Command('cepe')
  .description('Open-domain question answering over your own corpus with CEPE, Contriever and LanceDB.')
  .version(packageVersion())
  .showHelpAfterError('(see --help)')
  .addCommand(serveCommand())
  .addCommand(askCommand())
  .addCommand(readCommand())
  .addCommand(indexCommand())
  .addCommand(keysCommand())
  .addCommand(embedWorkerCommand())
  .addCommand(pullCommand())
  .addCommand(buildCommand())
  .addCommand(verifyCommand())
  .addCommand(inspectCommand())
  .addCommand(migrateCommand())
  .command('eval', 'evaluate on open-domain QA datasets and compare runs', { executableFile: '../eval/cli.js' })
  .command('calibrate', 'fit the probability that an answer is right, on questions with answers', {
    executableFile: '../eval/calibrate.js',
  })

await runProgram(program)
