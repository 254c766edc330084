import { readFileSync } from 'node:fs'
import { CodedError } from '../../base/errors.ts'

/** Loading the program opens some 150 files at once; the index and connections need more. */
const LEAST = 256

/**
 * Looks how many files this process may have open, where /proc tells: with too few not even the program's own modules can be loaded.
 * @throws config_invalid
 */
export function checkOpenFiles(): void {
  const most = mostOpenFiles()
  if (most >= LEAST) return
  throw new CodedError(
    'config_invalid',
    `This process may have ${most} files open; at least ${LEAST} are needed, and 4096 or more for a service. Raise the limit (ulimit -n, or LimitNOFILE of systemd).`,
  )
}

function mostOpenFiles(): number {
  try {
    const [, most] = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
    return most === undefined ? Infinity : Number(most)
  } catch {
    return Infinity
  }
}
