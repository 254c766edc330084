import { CodedError, messageOf } from '../base/errors.ts'

/** Runs a command that is no part of `cepe`; a failure is reported under its name and sets the exit code. */
export async function runScript(name: string, run: () => Promise<void>): Promise<void> {
  try {
    await run()
  } catch (thrown) {
    const bug = thrown instanceof Error && !(thrown instanceof CodedError)
    process.stderr.write(`${name}: ${bug ? (thrown.stack ?? thrown.message) : messageOf(thrown)}\n`)
    process.exitCode = 1
  }
}
