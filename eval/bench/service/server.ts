import { spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const CLI = fileURLToPath(new URL('../../../src/cli.js', import.meta.url))
const PAGE_BYTES = 4096
export const ADMIN_KEY = 'a key of the benchmark alone'

export interface Server {
  readonly url: string
  readonly pid: number
  /** Ids of its own processes: the embedder was started first. */
  children(): number[]
  /** Milliseconds that the service's own thread was ready to run and had no core, so far. */
  readonly waitedMs: () => number
  /** Resident bytes of all its processes. */
  residentBytes(): number
  /** @returns exit code */
  stop(): Promise<number | null>
}

/** Starts the built service on a free port of this machine. */
export async function startServer(settings: Readonly<Record<string, string>>): Promise<Server> {
  const env = { ...process.env, CEPE_LOG_LEVEL: 'silent', CEPE_ADMIN_KEY: ADMIN_KEY, ...settings }
  const child = spawn(process.execPath, [CLI, 'serve', '--port', '0'], { env, stdio: ['ignore', 'ignore', 'pipe'] })
  const pid = child.pid ?? 0
  const closed = new Promise<number | null>((resolve) => child.once('close', resolve))
  const url = await new Promise<string>((resolve, reject) => {
    let printed = ''
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
      printed += chunk
      const found = /Answering questions at (http:\/\/\S+)/.exec(printed)?.[1]
      if (found !== undefined) resolve(found)
    })
    child.once('close', () => reject(new Error(`the service ended: ${printed}`)))
  })
  return {
    url,
    pid,
    children: () => childrenOf(pid),
    waitedMs: () => waitedMs(pid),
    residentBytes: () => [pid, ...childrenOf(pid)].reduce((sum, id) => sum + residentBytes(id), 0),
    stop: () => {
      child.kill()
      return closed
    },
  }
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

/** By /proc, so on Linux alone. */
function childrenOf(pid: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => {
      const stat = read(`/proc/${name}/stat`)
      const [state, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
      return Number(parent) === pid && state !== 'Z'
    })
    .map(Number)
    .sort((a, b) => a - b)
}

/** Of the main thread: schedstat has nanoseconds run, and nanoseconds waited. */
function waitedMs(pid: number): number {
  const [, waited = '0'] = read(`/proc/${pid}/task/${pid}/schedstat`).split(' ')
  return Number(waited) / 1e6
}

function residentBytes(pid: number): number {
  const [, pages = '0'] = read(`/proc/${pid}/statm`).split(' ')
  return Number(pages) * PAGE_BYTES
}
