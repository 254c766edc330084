import { readdirSync, readFileSync } from 'node:fs'
import { startServer as startService, type RunningServer } from '../processes.ts'

const PAGE_BYTES = 4096
export const ADMIN_KEY = 'a key of the benchmark alone'

export interface Server extends RunningServer {
  /** Ids of its child processes: the embedder is started first. */
  children(): number[]
  /** Milliseconds that the service's main thread was runnable without a core. */
  readonly waitedMs: () => number
  /** Resident bytes of all its processes. */
  residentBytes(): number
}

/** Starts the built service on a free port. */
export async function startServer(settings: Readonly<Record<string, string>>): Promise<Server> {
  const env = { ...process.env, CEPE_LOG_LEVEL: 'silent', CEPE_ADMIN_KEY: ADMIN_KEY, ...settings }
  const server = await startService(env, ['ignore', 'ignore', 'pipe'])
  const { pid } = server
  return {
    ...server,
    children: () => childrenOf(pid),
    waitedMs: () => waitedMs(pid),
    residentBytes: () => [pid, ...childrenOf(pid)].reduce((sum, id) => sum + residentBytes(id), 0),
  }
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

/** From /proc, on Linux only. */
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

/** For the main thread: schedstat has nanoseconds run and waited. */
function waitedMs(pid: number): number {
  const [, waited = '0'] = read(`/proc/${pid}/task/${pid}/schedstat`).split(' ')
  return Number(waited) / 1e6
}

function residentBytes(pid: number): number {
  const [, pages = '0'] = read(`/proc/${pid}/statm`).split(' ')
  return Number(pages) * PAGE_BYTES
}
