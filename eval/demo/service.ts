import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { packageRoot } from '../../src/package.ts'
import { CodedError } from '../../base/errors.ts'

const POLL_MS = 250
/** Longest time from listening to readiness. */
const UNREADY_MS = 60_000

export interface RunningService {
  readonly url: string
  stop(): Promise<void>
}

/**
 * Starts the service as users do, in a separate process on a free port, and waits until it is ready; build progress is shown on standard
 * error.
 * @param settings the complete environment, so that user settings have no effect
 * @param cwd a working folder without an .env file
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
  // A terminated evaluation leaves no service behind.
  const terminate = (): void => {
    child.kill('SIGTERM')
    process.kill(process.pid, 'SIGTERM')
  }
  process.once('SIGTERM', terminate)
  const stop = async (): Promise<void> => {
    process.removeListener('SIGTERM', terminate)
    child.kill('SIGTERM')
    await exited
  }
  let listeningSince: number | undefined
  for (;;) {
    const state = await readiness(url)
    if (state === 'ready') return { url, stop }
    if (child.exitCode !== null || child.signalCode !== null)
      throw new CodedError('service_unreachable', 'The service did not start; see its message above.')
    if (state !== 'silent') listeningSince ??= Date.now()
    if (listeningSince !== undefined && Date.now() - listeningSince > UNREADY_MS) {
      await stop()
      throw new CodedError('service_unreachable', `The service started, but does not become ready: ${state}`)
    }
    await sleep(POLL_MS)
  }
}

/** `ready`, `silent` if nothing listens yet, or what the service waits for. */
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
