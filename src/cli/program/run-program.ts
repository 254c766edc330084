import { type Command, CommanderError } from 'commander'
import { CodedError, invalidConfig, invalidOption, messageOf, osCode } from '../../../base/errors.ts'
import { failureOf } from '../../../base/failures.ts'
import { type LockWait, onLockWait } from '../../../base/locks/lock-wait.ts'
import { pidOf } from '../../../base/process-tag.ts'
import { checkOpenFiles } from '../../../base/process.ts'
import type { Config } from '../../settings.ts'
import { Interrupted, INTERRUPTED_CODE } from './interrupted.ts'
import { say } from './shown.ts'

/** Loads the settings ({@link loadConfig}) when a command runs: help does not need their schema. */
export async function loadConfig(overrides: Partial<Record<keyof Config, unknown>> = {}): Promise<Config> {
  const config = await import('../../config.ts')
  return config.loadConfig(overrides)
}

/** As {@link loadConfig}, for a command that changes the index. @throws config_invalid in a replica */
export async function loadWritingConfig(overrides?: Parameters<typeof loadConfig>[0]): Promise<Config> {
  const config = await loadConfig(overrides)
  if (config.ROLE !== 'replica') return config
  const problem = 'CEPE_ROLE is replica, which never changes the index'
  throw invalidConfig('CEPE_ROLE', `${problem}: run the command with the settings of the indexer, or unset CEPE_ROLE.`)
}

/** Time after which a failed command exits although something is still running. */
const END_MS = 5_000

/** Runs a command line: formats errors consistently, with exit code 1 (130 after Ctrl-C). */
export async function runProgram(program: Command, run: () => Promise<unknown> = () => program.parseAsync()): Promise<void> {
  // The reader of the output may leave; the command continues or ends without a further error.
  process.stderr.on('error', () => undefined)
  process.stdout.on('error', (error) => {
    if (osCode(error) !== 'EPIPE') fail(program, error)
  })
  program.hook('preAction', prepare)
  refuseRepeated(program)
  try {
    await run()
  } catch (thrown) {
    if (osCode(thrown) === 'EPIPE') return
    if (thrown instanceof CommanderError) process.exitCode = 1
    else fail(program, thrown)
  }
}

/** Refuses an option that is given twice and keeps the last value alone. */
function refuseRepeated(command: Command): void {
  const given = new Set<string>()
  const single = command.options.filter(({ variadic, defaultValue }) => !variadic && !Array.isArray(defaultValue))
  for (const option of single.filter(({ required, optional }) => required || optional))
    command.on(`option:${option.name()}`, () => {
      const flag = `--${option.name()}`
      if (given.has(flag)) throw invalidOption(flag, `${flag} is given twice: name one value.`)
      given.add(flag)
    })
  command.commands.forEach(refuseRepeated)
}

/** Runs before any command, before most of the program is loaded. @throws options_invalid for an option before the command's name */
async function prepare(program: Command, command: Command): Promise<void> {
  const { parent } = command
  const unread = parent?.options.find((option) => parent.getOptionValueSource(option.attributeName()) === 'cli')?.long
  if (unread !== undefined)
    throw invalidOption(
      unread,
      `${unread} stands before "${command.name()}", which does not read it there: leave it out, or write it after.`,
    )
  // An empty path would be the current folder.
  const paths = command.options.filter(({ flags }) => /<(?:folder|file)/.test(flags))
  const empty = paths.find((option) => command.getOptionValue(option.attributeName()) === '')?.long
  const name = empty ?? (command.args.includes('') ? command.name() : undefined)
  if (name !== undefined) throw invalidOption(name, `The argument of "${name}" is empty, as of a variable that is not set: write it.`)
  onLockWait((wait) => void reportLockWait(program, wait))
  // Node.js has replaced what is not UTF-8.
  if (process.argv.some((argument) => argument.includes('\ufffd')))
    throw new CodedError('options_invalid', 'An argument is not UTF-8: write it in that encoding (locale).')
  checkOpenFiles()
  const { disableLibraryWarnings } = await import('../../config.ts')
  disableLibraryWarnings()
}

/** Reports waits for locks between processes, which can take a minute. */
async function reportLockWait(program: Command, { location, holder }: LockWait): Promise<void> {
  const pid = await pidOf(holder)
  const who = pid === undefined ? 'a process on another machine or in another container' : `process ${pid}`
  say(`${program.name()}: waiting for a lock held by ${who}: ${location}`)
}

/** Errors already printed: a stream's error reaches its writer and its listeners. */
const said = new WeakSet<object>()

/** Prints errors for users as one line; others are bugs and keep their stack. */
function fail(program: Command, thrown: unknown): void {
  if (thrown instanceof Error && said.has(thrown)) return
  if (thrown instanceof Error) said.add(thrown)
  const error = failureOf(thrown) ?? thrown
  const expected = error instanceof CodedError || error instanceof Interrupted || osCode(error) !== undefined || !(error instanceof Error)
  const message = expected ? messageOf(error) : (error.stack ?? error.message)
  say(`${program.name()}: ${message}`)
  process.exitCode = thrown instanceof Interrupted ? INTERRUPTED_CODE : 1
  setTimeout(() => process.exit(), END_MS).unref()
}
