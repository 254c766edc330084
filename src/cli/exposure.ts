import { CodedError } from '../../base/errors.ts'
import { isLoopback } from '../../base/loopback.ts'
import type { Config } from '../settings.ts'
import { needsKey } from '../keys/keys.ts'
import { readKeys } from '../keys/store.ts'

/**
 * Prevents an accidental service without keys on an address that other machines can reach.
 * @throws config_invalid with the remedies
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
