import { spawn, type ChildProcess, type StdioOptions } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { packageRoot } from '../../src/package.ts'

/** Processes that tests and benchmarks start of what is built. */

export const CLI = built('src/cli.js')

/** Path of a file of the built program. */
export function built(file: string): string {
  return path.join(packageRoot(), 'dist', file)
}

/** Path of a compiled file of `test/` or `bench/`. */
export function builtForTests(file: string): string {
  return path.join(packageRoot(), 'dist-test', file)
}

export type Settings = Readonly<Record<string, string | undefined>>

export interface StartOptions {
  /** Environment beside PATH and HOME. Default: empty, so that user settings have no effect. */
  readonly env?: Settings
  /** Default: no input, both outputs as pipes. */
  readonly stdio?: StdioOptions
}

/** Starts Node on a file. */
export function startNode(file: string, args: readonly string[], { env = {}, stdio = ['ignore', 'pipe', 'pipe'] }: StartOptions = {}) {
  return spawn(process.execPath, [file, ...args], { env: { ...bareEnvironment(), ...env }, stdio })
}

/** The environment that any program needs, and the folder where Node keeps compiled modules. */
export function bareEnvironment(): Settings {
  const { PATH, HOME, NODE_COMPILE_CACHE } = process.env
  return { PATH, HOME, NODE_COMPILE_CACHE }
}

export interface Printed {
  readonly stdout: () => string
  readonly stderr: () => string
}

/** Collects the output of a process. */
export function collect(child: ChildProcess): Printed {
  let stdout = ''
  let stderr = ''
  child.stdout?.setEncoding('utf8').on('data', (chunk: string) => (stdout += chunk))
  child.stderr?.setEncoding('utf8').on('data', (chunk: string) => (stderr += chunk))
  return { stdout: () => stdout, stderr: () => stderr }
}

export interface Finished {
  /** null if it was ended by a signal. */
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Waits for a process to exit. */
export async function finished(child: ChildProcess): Promise<Finished> {
  const printed = collect(child)
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, stdout: printed.stdout(), stderr: printed.stderr() }
}

export interface RunningServer extends Printed {
  readonly url: string
  readonly pid: number
  /** Sends a signal (SIGTERM) and returns the exit code (null after SIGKILL). */
  stop(signal?: NodeJS.Signals): Promise<number | null>
}

/**
 * Address of a started service once it listens, from its standard error. The rest of its output is not read.
 * @throws Error with its output if it exits
 */
export function addressOf(child: ChildProcess): Promise<string> {
  let said = ''
  return new Promise((resolve, reject) => {
    child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
      said += chunk
      const found = /(?:Answering questions|Accepting jobs and changes) at (http:\/\/\S+)/.exec(said)?.[1]
      if (found !== undefined) resolve(found)
    })
    child.stderr?.once('close', () => reject(new Error(`the service ended: ${said}`)))
  })
}

/** Waits until a started service answers. @throws as addressOf */
export async function serving(child: ChildProcess): Promise<RunningServer> {
  const printed = collect(child)
  const closed = once(child, 'close') as Promise<[number | null]>
  return {
    ...printed,
    url: await addressOf(child),
    pid: child.pid ?? 0,
    stop: async (signal = 'SIGTERM') => {
      child.kill(signal)
      return (await closed)[0]
    },
  }
}

/** Starts the compiled service on a free port and waits until it answers. */
export function startServer(env: Settings, stdio?: StdioOptions): Promise<RunningServer> {
  return serving(startNode(CLI, ['serve', '--port', '0'], { env, ...(stdio && { stdio }) }))
}
