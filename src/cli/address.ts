import { lookup } from 'node:dns/promises'
import { createServer } from 'node:net'
import { type CodedError, invalidConfig, reasonOf, osCode } from '../../base/errors.ts'
import { isLoopback } from '../../base/loopback.ts'
import type { buildApp } from '../app.ts'
import type { Config } from '../settings.ts'
import { openKeys } from '../keys/keys.ts'

/** Checks that the service can listen here, before anything slow starts. @throws config_invalid if it cannot */
export async function checkAddress(host: string, port: number): Promise<void> {
  const server = createServer()
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => reject(cannotListen(error, host, port)))
    server.listen({ host, port }, resolve)
  })
  await new Promise((resolve) => server.close(resolve))
}

/**
 * Listens at an address. Connections to the further addresses of `localhost` are given to the same server, whose limits and errors then hold
 * for them too: the framework would start a second server.
 * @throws config_invalid if it cannot
 */
export async function listen(app: Awaited<ReturnType<typeof buildApp>>, host: string, port: number): Promise<string> {
  const found = host === 'localhost' ? await lookup(host, { all: true }).catch(() => []) : []
  const [first = host, ...others] = found.map(({ address }) => address)
  const address = await app.listen({ host: first, port }).catch((error: unknown) => {
    throw cannotListen(error, host, port)
  })
  for (const other of new Set(others)) {
    const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => app.server.emit('connection', socket))
    server.once('error', (error) => app.log.warn(`The service does not listen at ${other} (${reasonOf(error)}).`))
    server.listen({ host: other, port: Number(new URL(address).port) })
    app.server.once('close', () => server.close())
  }
  return address
}

/** Maps a failed listen to the setting. */
function cannotListen(error: unknown, host: string, port: number): CodedError {
  const inUse = `Port ${port} of ${host} is in use: end what listens there, or choose another port (CEPE_PORT).`
  if (osCode(error) === 'EADDRINUSE') return invalidConfig('CEPE_PORT', inUse, error)
  const reserved = `Port ${port} of ${host} may not be opened by this user: choose one from 1024 (CEPE_PORT).`
  if (osCode(error) === 'EACCES') return invalidConfig('CEPE_PORT', reserved, error)
  const message = `The service cannot listen at ${host}, port ${port} (${reasonOf(error)}): choose an address of this machine (CEPE_HOST).`
  return invalidConfig('CEPE_HOST', message, error)
}

/** Prevents an accidental service without keys on an address that other machines can reach. @throws config_invalid with the remedies */
export async function checkExposure({ HOST: host, ALLOW_OPEN: allowed, KEYS_DIR: dir }: Config): Promise<void> {
  const keys = await openKeys({ dir })
  keys.close()
  if (allowed || isLoopback(host) || keys.required) return
  const message = `Everyone who reaches ${host} could ask: make a key (cepe keys add <name>; folder ${dir}), set CEPE_ALLOW_OPEN=true to allow it, or listen on 127.0.0.1 (CEPE_HOST).`
  throw invalidConfig('CEPE_HOST', message)
}
