import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { packageRoot } from '../../src/package.ts'
import { CodedError } from '../../base/errors.ts'

const POLL_MS = 250
/** Time that a service which listens may take to become ready. */
const UNREADY_MS = 60_000

export interface RunningService {
  readonly url: string
  stop(): Promise<void>
}

/**
 * Starts the service as its users do, in a process of its own on a free port, and waits until it is ready; what it builds
 * first shows on standard error.
 * @param settings the service's whole environment, so that nobody's own settings are measured
 * @param cwd working folder: one without an .env file
 */
export async function startService(settings: Readonly<Record<`CEPE_${string}`, string>>, cwd: string): Promise<RunningService> {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const child = spawn(
    process.execPath,
    [path.join(packageRoot(), 'dist', 'src', 'cli.js'), 'serve', '--host', '127.0.0.1', '--port', String(port)],
    { cwd, env: { ...settings }, stdio: ['ignore', 'ignore', 'inherit'] },
  )
  const exited = once(child, 'exit')
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM')
    await exited
  }
  let listeningSince: number | undefined
  for (;;) {
    const state = await readiness(url)
    if (state === 'ready') return { url, stop }
    if (child.exitCode !== null || child.signalCode !== null)
      throw new CodedError('service_unreachable', 'The service did not start; its message stands above.')
    if (state !== 'silent') listeningSince ??= Date.now()
    if (listeningSince !== undefined && Date.now() - listeningSince > UNREADY_MS) {
      await stop()
      throw new CodedError('service_unreachable', `The service started, but does not become ready: ${state}`)
    }
    await sleep(POLL_MS)
  }
}

/** `ready`, `silent` where nothing listens yet, or what the service says that it is waiting for. */
async function readiness(url: string): Promise<string> {
  const response = await fetch(`${url}/readyz`).catch(() => undefined)
  if (response === undefined) return 'silent'
  return response.ok ? 'ready' : response.text()
}

async function freePort(): Promise<number> {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (address === null || typeof address === 'string') throw new Error('A TCP server has no port. This is a bug.')
  return address.port
}
