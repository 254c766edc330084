/** Exit code of a program that Ctrl-C ended, as shells have it. */
export const INTERRUPTED_CODE = 130

/** What a command says that Ctrl-C ended: what is kept, and how to go on. */
export class Interrupted extends Error {}

/**
 * Runs work that Ctrl-C ends: its signal is aborted at the first one. A second one kills the process.
 * @param message what is said then, found out when the work has ended
 * @param also ends the work as Ctrl-C does
 * @throws Interrupted where the work failed after Ctrl-C
 */
export async function interruptible<Result>(
  work: (signal: AbortSignal) => Promise<Result>,
  message: () => string | Promise<string>,
  also?: AbortSignal,
): Promise<Result> {
  const interrupted = new AbortController()
  const interrupt = (): void => interrupted.abort()
  process.once('SIGINT', interrupt)
  also?.addEventListener('abort', interrupt, { once: true })
  if (also?.aborted === true) interrupt()
  try {
    return await work(interrupted.signal)
  } catch (error) {
    throw interrupted.signal.aborted ? new Interrupted(await message()) : error
  } finally {
    process.removeListener('SIGINT', interrupt)
    also?.removeEventListener('abort', interrupt)
  }
}

/** Runs work that Ctrl-C ends together with the process, since nothing has to be closed or kept before. */
export async function interruptibleAtOnce<Result>(work: () => Promise<Result>, message: string): Promise<Result> {
  const end = (): void => {
    process.stderr.write(`\ncepe: ${message}\n`)
    process.exit(INTERRUPTED_CODE)
  }
  process.once('SIGINT', end)
  try {
    return await work()
  } finally {
    process.removeListener('SIGINT', end)
  }
}
