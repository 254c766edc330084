import { spawn } from 'node:child_process'
import path from 'node:path'

/** The longest that a file may take; the test itself reports what was open by then, and is killed if it cannot. */
const TIMEOUT_S = Number(process.env['TEST_TIMEOUT_S'] ?? 400)
const GRACE_S = 30
/** Where Node 22 and newer keep compiled modules, for processes that tests start too. */
const NODE_COMPILE_CACHE = path.resolve('.tap/compiled')
const TESTED = /^ok \d/m

export interface FileResult {
  readonly file: string
  /** Its TAP. */
  readonly output: string
  readonly seconds: number
  /** Why it failed; undefined if it passed. */
  readonly problem: string | undefined
}

/** Runs a test file in a process of its own. */
export async function runFile(file: string): Promise<FileResult> {
  const began = performance.now()
  const child = spawn(process.execPath, ['--import=./dist-test/test/helpers/plain-processes.js', file], {
    env: { NODE_COMPILE_CACHE, ...process.env, TAP_TIMEOUT: String(TIMEOUT_S) },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const timer = setTimeout(() => child.kill('SIGKILL'), (TIMEOUT_S + GRACE_S) * 1000)
  const parts: Buffer[] = []
  child.stdout.on('data', (part: Buffer) => parts.push(part))
  const problem = await new Promise<string | undefined>((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code, signal) => resolve(code === 0 ? undefined : signal ? `killed by ${signal}` : `exit code ${code}`))
  })
  clearTimeout(timer)
  const output = Buffer.concat(parts).toString()
  return {
    file,
    output,
    seconds: (performance.now() - began) / 1000,
    problem: problem ?? (TESTED.test(output) ? undefined : 'no test in it'),
  }
}
