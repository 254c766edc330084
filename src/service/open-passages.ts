/** The tables of a service: that of its settings, and those that are asked for by name. Their object store and a replica's copy are checked before anything is opened. */
import { messageOf, CodedError } from '../../base/errors.ts'
import { openCollections } from '../../index/collections/collections.ts'
import type { Collections } from '../../index/collections/contract.ts'
import type { EmbedOf, Models } from '../../index/contract.ts'
import { openIndex, type PassageIndex } from '../../index/open.ts'
import type { Log } from '../inference/log.ts'
import type { Config } from '../settings.ts'
import { useScratch } from './paths.ts'
import { storeOf } from '../../index/store/store-of.ts'
import { readAlias } from '../../index/versions/alias.ts'
import { startReplicaCache, type ReplicaCache } from '../../index/replica/replica-cache.ts'

interface Opening {
  readonly log: Log | undefined
  readonly embedOf: EmbedOf
}

/** Opens the main collection; a replica with a copy reads that. */
export async function openPassages(
  config: Config,
  { model, furtherModels = [] }: Models,
  { log, embedOf }: Opening,
): Promise<PassageIndex> {
  await useScratch()
  return openIndex({
    dir: config.ROLE === 'replica' ? (config.MIRROR_DIR ?? config.INDEX_DIR) : config.INDEX_DIR,
    table: config.TABLE,
    model,
    furtherModels,
    embedOf,
    ...openedAs(config, log),
  })
}

/** Opens the main collection, and those beside it by their names, which a replica reads from where they are. What an earlier process began to remove goes first. */
export async function openTables(config: Config, models: Models, opening: Opening): Promise<Collections> {
  const { log, embedOf } = opening
  const collections = openCollections({
    main: await openPassages(config, models, opening),
    dir: config.INDEX_DIR,
    mostOpen: config.MAX_OPEN_COLLECTIONS,
    embedOf,
    ...openedAs(config, log),
  })
  if (config.ROLE !== 'replica')
    await collections.finishRemovals().catch((error: unknown) => log?.('warn', `A collection is not quite removed: ${messageOf(error)}`))
  return collections
}

function openedAs(config: Config, log: Log | undefined) {
  return {
    readOnly: config.ROLE === 'replica',
    keepMs: config.KEEP_VERSIONS_MIN * 60_000,
    onWarning: (message: string) => (log ? log('warn', message) : process.emitWarning(message)),
  }
}

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
