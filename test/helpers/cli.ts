import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readdir, readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'

const CLI = fileURLToPath(new URL('../../dist/src/cli.js', import.meta.url))

export interface Finished {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

function start(args: readonly string[], env: Readonly<Record<string, string>>): ChildProcess {
  return spawn(process.execPath, [CLI, ...args], {
    env: { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
}

function collect(child: ChildProcess): { stdout: () => string; stderr: () => string } {
  let stdout = ''
  let stderr = ''
  child.stdout?.setEncoding('utf8').on('data', (chunk: string) => (stdout += chunk))
  child.stderr?.setEncoding('utf8').on('data', (chunk: string) => (stderr += chunk))
  return { stdout: () => stdout, stderr: () => stderr }
}

/** Runs the compiled command to its end, or until it is killed by the signal (its exit code is null then). */
export async function runCli(args: readonly string[], env: Readonly<Record<string, string>> = {}, signal?: AbortSignal): Promise<Finished> {
  const child = start(args, env)
  signal?.addEventListener('abort', () => child.kill('SIGKILL'), { once: true })
  const output = collect(child)
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, stdout: output.stdout(), stderr: output.stderr() }
}

export interface RunningServer {
  readonly url: string
  readonly pid: number
  readonly stderr: () => string
  readonly stdout: () => string
  /** Ends it with a signal and gives its exit code (null after SIGKILL). */
  stop(signal?: NodeJS.Signals): Promise<number | null>
}

/** Starts the compiled service on a free port and waits until it answers. */
export async function startServer(env: Readonly<Record<string, string>>): Promise<RunningServer> {
  const child = start(['serve', '--port', '0'], env)
  const output = collect(child)
  const closed = once(child, 'close') as Promise<[number | null]>
  const url = await new Promise<string>((resolve, reject) => {
    child.stderr?.on('data', () => {
      const found = /Answering questions at (http:\/\/\S+)/.exec(output.stderr())?.[1]
      if (found !== undefined) resolve(found)
    })
    child.once('close', () => reject(new Error(`the service ended: ${output.stderr()}`)))
  })
  return {
    url,
    pid: child.pid ?? 0,
    stderr: output.stderr,
    stdout: output.stdout,
    stop: async (signal = 'SIGTERM') => {
      child.kill(signal)
      return (await closed)[0]
    },
  }
}

/** Ids of the processes that carry a text in their environment: those that a marked command started, and theirs. Linux alone tells. */
export async function processesWith(marker: string): Promise<number[]> {
  const ids = await readdir('/proc').catch(() => [])
  const found = await Promise.all(
    ids
      .filter((id) => /^\d+$/.test(id))
      .map(async (id) => ((await readFile(`/proc/${id}/environ`, 'utf8').catch(() => '')).includes(marker) ? [Number(id)] : [])),
  )
  return found.flat()
}
