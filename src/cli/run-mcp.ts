import { serveStdio } from '@modelcontextprotocol/server/stdio'
import type { Readable } from 'node:stream'
import { invalidConfig, messageOf } from '../../base/errors.ts'
import { failureOf } from '../../base/failures.ts'
import { collectionPage } from '../../index/collections/contract.ts'
import { loadConfig } from '../config.ts'
import { packageVersion } from '../package.ts'
import type { ToolContext } from '../mcp/contract.ts'
import { createToolServer } from '../mcp/server.ts'
import { inCollection } from '../rag/pipeline.ts'
import { openService } from '../service/services.ts'
import { ensureArtefacts } from '../service/setup.ts'
import { forReading } from '../service/storage.ts'
import { createProgress } from './program/progress.ts'
import { say as sayLine } from './program/shown.ts'

/** Time limit for closing after the host has left; then the process exits. */
const HARD_END_MS = 5_000

/**
 * Serves tools over standard input and output until the host closes it or ends the process. Nothing else is written to standard output.
 * Responds immediately: models load while the host lists tools, and the first call waits for them.
 * @throws config_invalid, and errors of starting the service
 */
export async function runMcp(): Promise<void> {
  // An agent asks one question at a time and needs no second reader.
  const config = await forReading({ READERS: 1, ...loadConfig() })
  if (config.ROLE === 'indexer')
    throw invalidConfig('CEPE_ROLE', 'CEPE_ROLE is indexer, which answers no questions: unset it, or set replica.')
  const left = hostLeaves(process.stdin)
  const starting = ensureArtefacts(config, createProgress).then(() => openService(config, (_level, message) => say(message)))
  const context: ToolContext = {
    services: async (collection) => {
      const { answering, collections } = await starting
      const meant = collections.main.table
      return {
        index: await collections.open(collection ?? meant),
        answering: await inCollection(answering, collection),
        collections: (range) => collectionPage(collections, { meant }, range),
      }
    },
    run: { deadlineMs: config.DEADLINE_MS },
    failed: describe,
  }
  const server = serveStdio(() => createToolServer(packageVersion(), context), { onerror: (error) => say(messageOf(error)) })
  try {
    // Rejects if the service cannot start.
    await Promise.race([left, starting.then(() => left)])
  } finally {
    setTimeout(() => process.exit(), HARD_END_MS).unref()
    await server.close()
    const services = await starting.catch(() => undefined)
    await services?.close({ drainMs: 0 })
  }
}

/** Resolves when the host has closed the input or signalled the process. */
function hostLeaves(input: Readable): Promise<void> {
  return new Promise((resolve) => {
    for (const event of ['end', 'close']) input.once(event, () => resolve())
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve())
  })
}

function describe(error: unknown): ReturnType<ToolContext['failed']> {
  const failure = failureOf(error)
  if (failure !== undefined) return { code: failure.code, message: failure.message }
  say(error instanceof Error ? (error.stack ?? error.message) : messageOf(error))
  return { code: 'internal', message: 'Something went wrong; standard error of cepe mcp has the details.' }
}

function say(message: string): void {
  sayLine(`cepe mcp: ${message}`)
}
