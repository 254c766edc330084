import type { Command } from 'commander'

/** A command is loaded when it is asked for: all of them together take a second, which some need a tenth of. */
export const COMMANDS: Readonly<Record<string, () => Promise<Command>>> = {
  serve: async () => (await import('./serve.ts')).serveCommand(),
  ask: async () => (await import('./ask.ts')).askCommand(),
  read: async () => (await import('./read.ts')).readCommand(),
  index: async () => (await import('./index.ts')).indexCommand(),
  keys: async () => (await import('./keys.ts')).keysCommand(),
  'embed-worker': async () => (await import('./embed-worker.ts')).embedWorkerCommand(),
  pull: async () => (await import('./pull.ts')).pullCommand(),
  build: async () => (await import('./build.ts')).buildCommand(),
  verify: async () => (await import('./verify.ts')).verifyCommand(),
  inspect: async () => (await import('./inspect.ts')).inspectCommand(),
  migrate: async () => (await import('./migrate.ts')).migrateCommand(),
}
