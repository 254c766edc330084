import { BlockList, isIP } from 'node:net'
import { CodedError } from '../../base/errors.ts'
import type { Config } from '../settings.ts'
import { needsKey } from '../keys/keys.ts'
import { readKeys } from '../keys/store.ts'

const LOOPBACK = new BlockList()
LOOPBACK.addSubnet('127.0.0.0', 8)
LOOPBACK.addAddress('::1', 'ipv6')

function isLoopback(host: string): boolean {
  const version = isIP(host)
  return version === 0 ? host.toLowerCase() === 'localhost' : LOOPBACK.check(host, version === 4 ? 'ipv4' : 'ipv6')
}

/**
 * An address that other machines reach must not answer everyone by an oversight.
 * @throws config_invalid where it would, saying what to do
 */
export async function checkExposure({ HOST: host, ALLOW_OPEN: allowed, KEYS_DIR: dir }: Config): Promise<void> {
  const records = await readKeys(dir)
  if (allowed || isLoopback(host) || needsKey(records)) return
  throw new CodedError(
    'config_invalid',
    `Everyone who reaches ${host} could ask: make a key (cepe keys add <name>; folder ${dir}), set CEPE_ALLOW_OPEN=true where that is meant, or listen on 127.0.0.1 (CEPE_HOST).`,
    { field: 'CEPE_HOST' },
  )
}
