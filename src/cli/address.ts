import { createServer } from 'node:net'
import { CodedError, messageOf, osCode } from '../../base/errors.ts'

/**
 * Checks that the service can listen here, before anything slow starts.
 * @throws config_invalid if it cannot
 */
export async function checkAddress(host: string, port: number): Promise<void> {
  const server = createServer()
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => reject(cannotListen(error, host, port)))
    server.listen({ host, port }, resolve)
  })
  await new Promise((resolve) => server.close(resolve))
}

/** Maps a failed listen to the setting. */
export function cannotListen(error: unknown, host: string, port: number): CodedError {
  const refused = (field: string, problem: string): CodedError => new CodedError('config_invalid', problem, { field, cause: error })
  switch (osCode(error)) {
    case 'EADDRINUSE':
      return refused('CEPE_PORT', `Port ${port} of ${host} is in use: end what listens there, or choose another port (CEPE_PORT).`)
    case 'EACCES':
      return refused('CEPE_PORT', `Port ${port} of ${host} may not be opened by this user: choose one from 1024 (CEPE_PORT).`)
    default:
      return refused(
        'CEPE_HOST',
        `The service cannot listen at ${host}, port ${port} (${messageOf(error)}): choose an address of this machine (CEPE_HOST).`,
      )
  }
}
