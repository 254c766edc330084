import type { Command } from 'commander'

/** Definitions of commands are loaded on demand, and their implementation when they run: loading everything takes most of a second. */
export const COMMANDS: Readonly<Record<string, () => Promise<Command>>> = {
  serve: async () => (await import('./serve.ts')).serveCommand(),
  ask: async () => (await import('./ask.ts')).askCommand(),
  mcp: async () => (await import('./ask.ts')).mcpCommand(),
  read: async () => (await import('./ask.ts')).readCommand(),
  index: async () => (await import('./index/index.ts')).indexCommand(),
  keys: async () => (await import('./keys.ts')).keysCommand(),
  'embed-worker': async () => (await import('./index/shards.ts')).embedWorkerCommand(),
  pull: async () => (await import('./pull.ts')).pullCommand(),
  build: async () => (await import('./build.ts')).buildCommand(),
  verify: async () => (await import('./verify.ts')).verifyCommand(),
  inspect: async () => (await import('./verify.ts')).inspectCommand(),
  doctor: async () => (await import('./doctor.ts')).doctorCommand(),
  migrate: async () => (await import('./migrate.ts')).migrateCommand(),
}
