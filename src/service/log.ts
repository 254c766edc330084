import { pino, type Logger } from 'pino'
import sonicBoom from 'sonic-boom'
import type { Config } from '../settings.ts'

/** Log lines that wait for a disk or a reader; what comes when these are full is left out. */
const WAITING_BYTES = 2 ** 20
/** Time that the last lines have at the end of the process. */
const FLUSH_MS = 1_000

export interface ServiceLog {
  readonly logger: Logger
  /** Writes what waits, for a second at most; later lines are left out. */
  close(): Promise<void>
}

/**
 * The service's log: JSON lines on standard output; request headers, and so keys, are never in it.
 * It never keeps the service from answering: where nobody reads it, or its disk is full, lines wait in memory up to a
 * bound, then they are left out and counted.
 */
export function createLog({ LOG_LEVEL }: Pick<Config, 'LOG_LEVEL'>): ServiceLog {
  // process.stdout is asked for the descriptor because that makes a pipe non-blocking: a write to one that is not read
  // would otherwise hold a thread of the process, which then cannot even exit.
  const output = new sonicBoom.SonicBoom({ fd: process.stdout.fd, sync: false, maxLength: WAITING_BYTES })
  let leftOut = 0
  let closed = false
  // pino's own destination() is not used: it writes what waits when the process exits, for ever where nobody reads it.
  const logger = pino({ level: LOG_LEVEL }, { write: (line: string) => void (closed || output.write(line)) })
  output.on('drop', () => leftOut++)
  // A full disk or a reader that left. Nothing can be said about it here, and the next line tries again.
  output.on('error', () => undefined)
  output.on('drain', () => {
    if (leftOut === 0) return
    const count = leftOut
    leftOut = 0
    logger.warn({ lines: count }, 'log lines were dropped: the output did not accept them in time')
  })
  return {
    logger,
    close: () =>
      new Promise((resolve) => {
        closed = true
        const timer = setTimeout(resolve, FLUSH_MS)
        output.once('close', () => {
          clearTimeout(timer)
          resolve()
        })
        output.end()
      }),
  }
}
