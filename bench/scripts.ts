import { spawn } from 'node:child_process'
import { once } from 'node:events'

/** Runs a compiled script to completion and returns its standard output. @throws Error if it failed */
export async function outputOf(script: string, args: readonly string[]): Promise<string> {
  const child = spawn(process.execPath, [script, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const [code] = (await once(child, 'close')) as [number | null]
  if (code !== 0) throw new Error(`${script} ended with ${String(code)}`)
  return output
}

export interface Killed {
  /** Standard output up to its end. */
  readonly output: string
  /** False if it ended by itself. */
  readonly killed: boolean
}

/**
 * Runs a compiled script and kills it a number of milliseconds after its first line.
 * @throws Error with its standard error, if it failed before that
 */
export async function killedAfter(script: string, args: readonly string[], ms: number): Promise<Killed> {
  const child = spawn(process.execPath, [script, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
  const closed = once(child, 'close')
  let output = ''
  let errors = ''
  let timer: NodeJS.Timeout | undefined
  child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()))
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString()
    timer ??= setTimeout(() => child.kill('SIGKILL'), ms)
  })
  const [code, signal] = (await closed) as [number | null, NodeJS.Signals | null]
  clearTimeout(timer)
  const killed = signal === 'SIGKILL'
  if (!killed && code !== 0) throw new Error(`${script} ended with ${String(code ?? signal)} after "${output.slice(-200)}":\n${errors}`)
  return { output, killed }
}
