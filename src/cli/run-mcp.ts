import { serveStdio } from '@modelcontextprotocol/server/stdio'
import type { Readable } from 'node:stream'
import { CodedError, messageOf } from '../../base/errors.ts'
import { loadConfig, packageVersion } from '../config.ts'
import type { ToolContext, ToolFailure, ToolServices } from '../mcp/contract.ts'
import { createToolServer } from '../mcp/server.ts'
import { sourceList } from '../mcp/source-list.ts'
import { createServices } from '../service/services.ts'
import { ensureArtefacts } from '../service/setup.ts'
import type { Config } from '../settings.ts'
import { createProgress } from './progress.ts'

/** Time for closing everything after the host has left; then the process ends, whatever hangs. */
const HARD_END_MS = 5_000

/**
 * Serves tools over standard input and output until the host closes it, or ends the process. Nothing else is written to standard output.
 * The host is answered at once: models load while it lists the tools, and its first call waits for them.
 * @throws config_invalid, and what starting the service throws
 */
export async function runMcp(): Promise<void> {
  // An agent asks one question after the other: it has no use for a second reader.
  const config = { READERS: 1, ...loadConfig() }
  if (config.ROLE === 'indexer')
    throw new CodedError('config_invalid', 'CEPE_ROLE is indexer, which answers no questions: leave it out, or set replica.', {
      field: 'CEPE_ROLE',
    })
  const left = hostLeaves(process.stdin)
  const starting = start(config)
  const context: ToolContext = {
    services: async () => (await starting).tools,
    run: () => ({ deadlineMs: config.DEADLINE_MS }),
    failed: describe,
  }
  const server = serveStdio(() => createToolServer(packageVersion(), context), { onerror: (error) => say(messageOf(error)) })
  try {
    await Promise.race([left, failureOf(starting)])
  } finally {
    setTimeout(() => process.exit(), HARD_END_MS).unref()
    await server.close()
    await starting.then(
      ({ close }) => close(),
      () => undefined,
    )
  }
}

interface Started {
  readonly tools: ToolServices
  readonly close: () => Promise<void>
}

async function start(config: Config): Promise<Started> {
  await ensureArtefacts(config, createProgress)
  const services = await createServices(config, (_level, message) => say(message))
  const { answering, index } = services
  return { tools: { answering, index, sources: sourceList(index) }, close: () => services.close({ drainMs: 0 }) }
}

/** Rejects where the work fails; never resolves. */
function failureOf(work: Promise<unknown>): Promise<never> {
  return work.then(() => new Promise<never>(() => undefined))
}

/** Resolves when the host has closed the input, or asked the process to end. */
function hostLeaves(input: Readable): Promise<void> {
  return new Promise((resolve) => {
    for (const event of ['end', 'close']) input.once(event, () => resolve())
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve())
  })
}

function describe(error: unknown): ToolFailure {
  if (error instanceof CodedError) return { code: error.code, message: error.message }
  say(error instanceof Error ? (error.stack ?? error.message) : messageOf(error))
  return { code: 'internal', message: 'Something went wrong; standard error of cepe mcp has the details.' }
}

function say(message: string): void {
  process.stderr.write(`cepe mcp: ${message}\n`)
}
