import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { packageRoot } from '../../src/config.ts'
import { EvalError } from '../errors.ts'

const POLL_MS = 250

export interface RunningService {
  readonly url: string
  stop(): Promise<void>
}

/** Starts the service as its users do, in a process of its own on a free port, and waits until it is ready; what it builds first shows on standard error. */
export async function startService(): Promise<RunningService> {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const child = spawn(process.execPath, [path.join(packageRoot(), 'dist', 'src', 'cli.js'), 'serve', '--host', '127.0.0.1', '--port', String(port)], { stdio: ['ignore', 'ignore', 'inherit'] })
  const exited = once(child, 'exit')
  while (!(await isReady(url))) {
    if (child.exitCode !== null || child.signalCode !== null) throw new EvalError('service_unreachable', 'The service did not start; its message stands above.')
    await sleep(POLL_MS)
  }
  return {
    url,
    stop: async () => {
      child.kill('SIGTERM')
      await exited
    },
  }
}

const isReady = (url: string): Promise<boolean> => fetch(`${url}/readyz`).then(({ ok }) => ok, () => false)

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
