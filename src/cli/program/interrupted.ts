import { say } from './shown.ts'

/** Exit code after Ctrl-C, as in shells. */
export const INTERRUPTED_CODE = 130

/** Message of an interrupted command: what is kept, and how to resume. */
export class Interrupted extends Error {}

/**
 * Runs work that Ctrl-C cancels: its signal is aborted at the first one; a second one kills the process.
 * @param message computed after the work has ended
 * @param also cancels the work like Ctrl-C
 * @throws Interrupted if the work failed after Ctrl-C
 */
export async function interruptible<Result>(
  work: (signal: AbortSignal) => Promise<Result>,
  message: () => string | Promise<string>,
  also?: AbortSignal,
): Promise<Result> {
  const interrupted = new AbortController()
  const interrupt = (): void => interrupted.abort()
  const signal = AbortSignal.any([interrupted.signal, ...(also ? [also] : [])])
  process.once('SIGINT', interrupt)
  const ended = work(signal).catch(async (error: unknown) => {
    throw signal.aborted ? new Interrupted(await message()) : error
  })
  return ended.finally(() => process.removeListener('SIGINT', interrupt))
}

/** Runs work that ends with the process at Ctrl-C, without clean-up. */
export async function interruptibleAtOnce<Result>(work: () => Promise<Result>, message: string): Promise<Result> {
  const end = (): void => {
    say(`\ncepe: ${message}`)
    process.exit(INTERRUPTED_CODE)
  }
  process.once('SIGINT', end)
  return work().finally(() => process.removeListener('SIGINT', end))
}
