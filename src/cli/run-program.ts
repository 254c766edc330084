import { CommanderError, type Command } from 'commander'
import { CodedError, messageOf, osCode } from '../../base/errors.ts'
import { onLockWait, type LockWait } from '../../base/locks/lock-wait.ts'
import { pidOf } from '../../base/locks/process.ts'
import { Interrupted, INTERRUPTED_CODE } from './interrupted.ts'
import { checkOpenFiles } from './open-files.ts'

/** Time after which a failed command ends although something that it started has not. */
const END_MS = 5_000

/** Runs a command line to its end: one way of saying what went wrong for all of them, and exit code 1 then (130 after Ctrl-C). */
export async function runProgram(program: Command): Promise<void> {
  // Whoever reads the output may leave; what the command does goes on, or ends, without that being an error of its own.
  process.stderr.on('error', () => undefined)
  process.stdout.on('error', (error) => {
    if (osCode(error) !== 'EPIPE') fail(program, error)
  })
  onLockWait((wait) => void reportLockWait(program, wait))
  program.hook('preAction', prepare)
  try {
    await program.parseAsync()
  } catch (thrown) {
    if (osCode(thrown) === 'EPIPE') return
    if (thrown instanceof CommanderError) process.exitCode = 1
    else fail(program, thrown)
  }
}

/** What comes before the work of any command, and before most of the program is loaded for it. */
async function prepare(): Promise<void> {
  checkOpenFiles()
  const { quietLibraries } = await import('../config.ts')
  quietLibraries()
}

/** Locks between processes can take a minute to come free: that is no reason to look dead. */
async function reportLockWait(program: Command, { location, holder }: LockWait): Promise<void> {
  const pid = await pidOf(holder)
  const who = pid === undefined ? 'a process on another machine or in another container' : `process ${pid}`
  process.stderr.write(`${program.name()}: waiting for a lock held by ${who}: ${location}\n`)
}

/** What was said: a stream's error reaches whoever writes to it, and its listeners. */
const said = new WeakSet<object>()

/** Errors that are the user's to read are one line; anything else keeps its stack, since it is a bug. */
function fail(program: Command, thrown: unknown): void {
  if (thrown instanceof Error && said.has(thrown)) return
  if (thrown instanceof Error) said.add(thrown)
  const expected =
    thrown instanceof CodedError || thrown instanceof Interrupted || osCode(thrown) !== undefined || !(thrown instanceof Error)
  process.stderr.write(`${program.name()}: ${expected ? messageOf(thrown) : (thrown.stack ?? thrown.message)}\n`)
  process.exitCode = thrown instanceof Interrupted ? INTERRUPTED_CODE : 1
  setTimeout(() => process.exit(), END_MS).unref()
}
