/** An index in an object store, and a replica's copy: checked before anything is opened. */
import { CodedError } from '../../base/errors.ts'
import { storeOf } from '../../index/store/store-of.ts'
import type { Models } from '../../index/contract.ts'
import { readAlias } from '../../index/versions/alias.ts'
import { startReplicaCache, type ReplicaCache } from '../../index/replica/replica-cache.ts'
import type { Log } from '../inference/log.ts'
import type { Config } from '../settings.ts'

/** Folder of idempotent responses: with the index, or, if that is in an object store, with its jobs. */
export function answersDir(config: Config, indexDir: string): string {
  return storeOf(indexDir).keepsFiles ? indexDir : (config.JOBS_DIR ?? config.KEYS_DIR)
}

/**
 * Checks that a replica can read the object store of its index. With a copy it starts without the store, too.
 * @throws config_invalid, store_unavailable
 */
export async function reachStore(config: Config, log: Log | undefined): Promise<void> {
  await storeOf(config.INDEX_DIR)
    .check(config.INDEX_DIR, { writes: false })
    .catch(async (error: unknown) => {
      const copied = config.MIRROR_DIR !== undefined && (await readAlias(config.MIRROR_DIR, config.TABLE)) !== undefined
      if (!copied || !(error instanceof CodedError) || error.code !== 'store_unavailable') throw error
      log?.('warn', `${error.message} Serving from the replica cache.`)
    })
}

/** A replica's copy of the table, up to date if the store is reachable. */
export async function replicaCacheOf(config: Config, models: Models, log: Log | undefined): Promise<ReplicaCache | undefined> {
  if (config.ROLE !== 'replica' || config.MIRROR_DIR === undefined) return undefined
  return startReplicaCache({
    from: config.INDEX_DIR,
    to: config.MIRROR_DIR,
    table: config.TABLE,
    models,
    maxBytes: config.MIRROR_MB * 1e6,
    onWarning: log && ((message: string) => log('warn', message)),
  })
}
