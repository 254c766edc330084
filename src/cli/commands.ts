import type { Command } from 'commander'

/** What a command is called and takes is loaded when it is asked for; what it works with, when it is run: that alone takes most of a second. */
export const COMMANDS: Readonly<Record<string, () => Promise<Command>>> = {
  serve: async () => (await import('./serve.ts')).serveCommand(),
  ask: async () => (await import('./ask.ts')).askCommand(),
  mcp: async () => (await import('./mcp.ts')).mcpCommand(),
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
