import { pino } from 'pino'
import sonicBoom from 'sonic-boom'
import { withoutSecrets } from '../../base/errors.ts'
import { legible } from '../../base/json.ts'
import type { Config } from '../settings.ts'

/** Limit of buffered log lines; further lines are dropped. */
const WAITING_BYTES = 2 ** 20
const FLUSH_MS = 1_000

/**
 * The service's log: JSON lines on standard output, without keys and queries of addresses. Logging never blocks the service: if the
 * output is not read, or its disk is full, lines are buffered up to a limit, then dropped and counted.
 */
export function createLog({ LOG_LEVEL }: Pick<Config, 'LOG_LEVEL'>) {
  // Reading process.stdout's descriptor makes a pipe non-blocking: a blocked write
  // would otherwise hold a thread of the process and prevent its exit.
  const output = new sonicBoom.SonicBoom({ fd: process.stdout.fd, sync: false, maxLength: WAITING_BYTES })
  let leftOut = 0
  let closed = false
  // pino's own destination() flushes at exit and blocks if the output is not read.
  const logger = pino({ level: LOG_LEVEL }, { write: (line: string) => void (closed || output.write(legible(withoutSecrets(line)))) })
  output.on('drop', () => leftOut++)
  // A full disk, or a reader that left. It cannot be logged here; the next line retries.
  output.on('error', () => undefined)
  output.on('drain', () => {
    if (leftOut === 0) return
    const count = leftOut
    leftOut = 0
    logger.warn({ lines: count }, 'log lines were dropped: the output did not accept them in time')
  })
  return {
    logger,
    /** Flushes the buffer for up to a second; later lines are dropped. */
    close: () =>
      new Promise<void>((resolve) => {
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
