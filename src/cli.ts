#!/usr/bin/env node
import { Command } from 'commander'
import { runProgram } from './cli/run-program.ts'
import { packageVersion, quietLanceDb } from './config.ts'

/** A command is loaded when it is asked for: all of them together take a second, which some need a tenth of. */
const COMMANDS: Readonly<Record<string, () => Promise<Command>>> = {
  serve: async () => (await import('./cli/serve.ts')).serveCommand(),
  ask: async () => (await import('./cli/ask.ts')).askCommand(),
  read: async () => (await import('./cli/read.ts')).readCommand(),
  index: async () => (await import('./cli/index.ts')).indexCommand(),
  keys: async () => (await import('./cli/keys.ts')).keysCommand(),
  'embed-worker': async () => (await import('./cli/embed-worker.ts')).embedWorkerCommand(),
  pull: async () => (await import('./cli/pull.ts')).pullCommand(),
  build: async () => (await import('./cli/build.ts')).buildCommand(),
  verify: async () => (await import('./cli/verify.ts')).verifyCommand(),
  inspect: async () => (await import('./cli/inspect.ts')).inspectCommand(),
  migrate: async () => (await import('./cli/migrate.ts')).migrateCommand(),
}
/** Programs of their own. */
const PROGRAMS = {
  eval: { description: 'evaluate on open-domain QA datasets and compare runs', executableFile: '../eval/cli.js' },
  calibrate: {
    description: 'fit the probability that an answer is right, on questions with answers',
    executableFile: '../eval/calibrate.js',
  },
} as const

quietLanceDb()
const program = new Command('cepe')
  .description('Open-domain question answering over your own corpus with CEPE, Contriever and LanceDB.')
  .version(packageVersion())
  .showHelpAfterError('(see --help)')
for (const [name, { description, executableFile }] of Object.entries(PROGRAMS)) program.command(name, description, { executableFile })

const [, , asked = ''] = process.argv
const isKnown = (name: string): boolean => Object.hasOwn(COMMANDS, name)
// Help, and the refusal of a name that is none, show all of them.
if (!Object.hasOwn(PROGRAMS, asked))
  for (const [name, load] of Object.entries(COMMANDS)) if (!isKnown(asked) || name === asked) program.addCommand(await load())

await runProgram(program)
